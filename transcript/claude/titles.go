package claude

import "sm/transcript"

// titles are the titles of the session in its file. Clients write them
// repeatedly: the newest counts.
type titles struct {
	custom, generated, summary, prompt transcript.Title
	branch                             string // as in the records
	own                                bool   // a record of this session has set a title
	named                              bool   // the file's name is its session's id
}

// uuidLength is the length of a session's id.
const uuidLength = 36

// retitle applies a title. A title that a fork has copied from another session
// counts until the fork's own one. A summary must name a record before it:
// clients 1.0.17 to 2.0.9 wrote those of other sessions at the beginning of
// each file.
func (f *Fold) retitle(e *transcript.Entry) {
	t := &f.titles
	if e.Titled == transcript.TitlePrompt {
		if t.prompt.Source == transcript.TitleNone {
			t.prompt = transcript.PromptTitle(e.Title)
		}
		return
	}
	if e.Titled == transcript.TitleSummary {
		if _, known := f.seen[e.Parent]; known && e.Parent != 0 {
			t.summary = transcript.NewTitle(string(e.Title), e.Titled)
		}
		return
	}
	own := len(e.SessionID) == 0 || transcript.KeyOf(e.SessionID) == f.name ||
		!t.named && string(e.SessionID) == f.Session.ID
	switch {
	case own && !t.own:
		t.custom = transcript.Title{}
		t.generated = transcript.Title{}
		t.own = true
	case !own && t.own:
		return
	}
	title := transcript.NewTitle(string(e.Title), e.Titled)
	if e.Titled == transcript.TitleCustom {
		t.custom = title // an empty title removes it
	} else {
		t.generated = title
	}
}
