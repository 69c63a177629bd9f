package alerts
import ("testing";"fmt";"os";"strconv")
func TestDebug(t *testing.T){
 seed,_:=strconv.Atoi(os.Getenv("SEED")); id:=AgentID(os.Getenv("AG")); cyc,_:=strconv.Atoi(os.Getenv("CYC"))
 if id=="" {t.Skip()}
 fs:=func(n int) faults { switch n%8 { case 7: return faults{doubled: 0.5, late: 0.5, lateness: 600}; case 6: return faults{lost: 0.5, late: 0.5, lateness: 20} }; return faults{lost: 0.25, doubled: 0.15, late: 0.2, lateness: 60} }
 lives,mail:=simulate(uint64(seed),50,24,fs(seed))
 var l *life; for _,x:=range lives{ if x.id==id {l=x}}
 lo:=0.0; all:=os.Getenv("ALL")!=""; if cyc>0 {lo=l.openings[cyc-1].at}; hi:=1e9; if cyc<len(l.openings){hi=l.openings[cyc].at}
 fmt.Println("transcript",l.transcript,"true cycle",cyc,"from",lo,"to",hi)
 if os.Getenv("STORM")!="" { storms(l) ; }
 e:=newEngine(t,timeOnly); next:=0.0
 for _,d:=range mail{
  for ; next<=d.at; next+=10 { a,_:=e.Tick(sec(next)); for _,s:=range lines(a){ if next>lo-60&&next<hi+60 {fmt.Println("   tick",next,s)}} }
  a:=e.Step(d.ev)
  if d.ev.Agent==id && (all || d.at>lo-250 && d.at<hi+100) {
   fmt.Printf("%.1f kind=%d at=%.2f tok=%d src=%d sign=%d key=%d trig=%d\n",d.at,d.ev.Kind,d.ev.At.Sub(epoch).Seconds(),d.ev.Tokens,d.ev.Source,d.ev.Sign,d.ev.Key,d.ev.Trigger)
   for _,s:=range lines(a){fmt.Println("      ",s)}
  }
 }
}

func storms(l *life){ for _,o:=range l.openings { fmt.Printf("truth %.0f auto=%v\n",o.at,o.auto) } }
