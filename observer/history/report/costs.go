package report

import (
	"cmp"
	"time"

	"sm/observer/history"
	"sm/transcript"
)

// followedBy is how many replies must follow a boundary for its bill to count.
const followedBy = 10

// Costs has the costs of the boundaries of contexts.
type Costs struct {
	Compactions Cost `json:"compactions"`
	Handoffs    Cost `json:"handoffs"`
	Clears      Cost `json:"clears"`
}

// Cost sums up the bills of boundaries of one kind. A boundary counts once,
// also in several transcripts.
type Cost struct {
	Count int `json:"count"`
	// Followed counts the boundaries that are followed by at least 10 replies.
	// The next four fields are of these alone: the boundaries after which a
	// file was read again, the calls that read a file in the 25 replies after,
	// the calls whose file was read before in the same transcript, and the
	// tokens by which the latter made the context grow. Codex has no tool for
	// reading: a command counts that shows one file and does nothing else. A
	// session that began with a handoff or a clear counts with the transcript
	// before it.
	Followed    int   `json:"followed"`
	WithRereads int   `json:"with_rereads"`
	Reads       int   `json:"reads"`
	Rereads     int   `json:"rereads"`
	Tokens      int64 `json:"reread_tokens"`
	// Dropped is the sum of the tokens by which contexts were smaller
	// afterwards, Seconds that of the durations, where known.
	Dropped int64 `json:"tokens_dropped"`
	Seconds int64 `json:"seconds"`
	// All is Tokens of all boundaries, however few replies followed, and
	// AllRereads the Rereads of these: the last replies of a session show no
	// growth.
	All        int64 `json:"-"`
	AllRereads int   `json:"-"`
	millis     int64
}

// Spent is the cost of compactions: the tokens that were read again, however
// few replies followed, and the durations, where known.
type Spent struct {
	Tokens  int64 `json:"reread_tokens"`
	Seconds int64 `json:"seconds"`
	// USD is an estimate for Tokens by the price of writing them to the cache;
	// null if a model has no price.
	USD *float64 `json:"estimated_cost_usd"`
}

// EnoughToTune is how many compactions that were not manual package tune needs
// to choose thresholds.
const EnoughToTune = 10

// advise sets the advice. Notices come first, as without them no agent hands
// over in time.
func (r *Report) advise(noticed bool) {
	saved := &r.Saved
	switch {
	case r.Compactions.Total() == 0:
	case !noticed:
		r.Advice = "sm install"
	case saved.ByHandoffs != nil && *saved.ByHandoffs > saved.ByFiles:
		r.Advice = "sm handoff"
	case saved.ByFiles > 0:
		r.Advice = "sm report --files"
	case r.Compactions.Total()-r.Compactions.Manual >= EnoughToTune:
		r.Advice = "sm replay --grid"
	}
}

// ProjectCosts has the costs of one project.
type ProjectCosts struct {
	Name string `json:"name"` // "" if the records have none
	Costs
}

// RereadFile is a file that was read again after compactions.
type RereadFile struct {
	Project string `json:"project"`
	Name    string `json:"name,omitempty"` // relative to the project's folder; only if names are requested
	Rereads int    `json:"rereads"`
	Tokens  int64  `json:"reread_tokens"`
	After   int    `json:"after_compactions"` // number of compactions
	key     transcript.Key
}

// Boundary is a boundary with the tokens that were read again after it.
type Boundary struct {
	At     time.Time
	Kind   string
	Tokens int64
}

// Saved estimates the savings in tokens that were read again after compactions.
type Saved struct {
	// ByHandoffs is the saving if agents had handed over instead: for each
	// compaction the difference between the mean rereads of compactions and
	// handoffs. It is null if there are too few handoffs for a mean.
	ByHandoffs *int64 `json:"by_handoffs"`
	// ByFiles is the saving if the files most often read again were in the context.
	ByFiles int64 `json:"by_files"`
}

const (
	// maxFiles limits the files in a report.
	maxFiles = 10
	// leastHandoffs is how many followed handoffs are needed for a mean cost.
	leastHandoffs = 3
)

func (c *Costs) add(b *transcript.Bill) {
	x := [...]*Cost{&c.Compactions, &c.Handoffs, &c.Clears}[b.Kind]
	x.Count++
	x.Dropped += b.Dropped()
	x.millis += b.Millis
	x.Seconds = (x.millis + 500) / 1000
	x.All += b.Tokens
	x.AllRereads += b.Rereads
	if b.Replies < followedBy {
		return
	}
	x.Followed++
	if b.Rereads > 0 {
		x.WithRereads++
	}
	x.Reads += b.Reads
	x.Rereads += b.Rereads
	x.Tokens += b.Tokens
}

// costs sets the costs of boundaries.
func (r *Report) costs(list []*history.Bill, projects map[string]string, prices transcript.Prices) {
	usd := 0.0
	priced := true
	byProject := map[string]*ProjectCosts{}
	files := map[transcript.Key]*RereadFile{}
	for _, b := range list {
		r.Costs.add(&b.Bill)
		name := projects[b.Agent]
		p := byProject[name]
		if p == nil {
			p = &ProjectCosts{Name: name}
			byProject[name] = p
		}
		p.add(&b.Bill)
		if b.Kind == transcript.BilledCompaction {
			cost, ok := prices.Cost(b.Model, transcript.Usage{CacheCreation: b.Tokens})
			usd += cost
			priced = priced && (ok || b.Tokens == 0)
			countFiles(files, name, &b.Bill)
		}
		if b.At != 0 {
			r.Boundaries = append(r.Boundaries, Boundary{b.At.Time(), b.Kind.String(), b.Tokens})
		}
	}
	r.Dropped = r.Costs.Compactions.Dropped
	r.Spent = Spent{Tokens: r.Costs.Compactions.All, Seconds: r.Costs.Compactions.Seconds}
	if priced && r.Spent.Tokens > 0 {
		r.Spent.USD = &usd
	}
	r.ProjectCosts = ordered(byProject, func(a, b ProjectCosts) int {
		return cmp.Or(
			cmp.Compare(b.Compactions.All, a.Compactions.All),
			cmp.Compare(b.Compactions.Count, a.Compactions.Count),
			cmp.Compare(a.Name, b.Name),
		)
	})
	r.RereadFiles = ordered(files, func(a, b RereadFile) int {
		return cmp.Or(
			cmp.Compare(b.Rereads, a.Rereads),
			cmp.Compare(b.Tokens, a.Tokens),
			cmp.Compare(a.Project, b.Project),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.key, b.key),
		)
	})
	r.RereadFiles = r.RereadFiles[:min(len(r.RereadFiles), maxFiles)]
	for _, f := range r.RereadFiles {
		r.Saved.ByFiles += f.Tokens
	}
	c := &r.Costs.Compactions
	h := &r.Costs.Handoffs
	if h.Followed >= leastHandoffs {
		r.Saved.ByHandoffs = new(max(0, c.Tokens-h.Tokens*int64(c.Followed)/int64(h.Followed)))
	}
}

func countFiles(files map[transcript.Key]*RereadFile, project string, b *transcript.Bill) {
	for _, x := range b.Files {
		key := transcript.Join(x.Key, transcript.KeyOf([]byte(project)))
		f := files[key]
		if f == nil {
			f = &RereadFile{Project: project, Name: x.Name, key: key}
			files[key] = f
		}
		f.Rereads += x.Reads
		f.Tokens += x.Tokens
		f.After++
	}
}

// Unnamed removes the names of files from a report.
func (r *Report) Unnamed() {
	for _, c := range r.Clients {
		c.Unnamed()
	}
	for i := range r.RereadFiles {
		r.RereadFiles[i].Name = ""
	}
}
