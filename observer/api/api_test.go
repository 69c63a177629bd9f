package api

import "testing"

func TestDisplayName(t *testing.T) {
	t.Parallel()
	s := Session{Name: "em", Title: "Fix it", Label: "shop-1", SessionID: "5e8f0000-2", ID: "x"}
	for _, part := range []*string{&s.Name, &s.Title, &s.Label, &s.SessionID, &s.ID} {
		if want := (*part)[:min(8, len(*part))]; s.DisplayName() != want {
			t.Errorf("DisplayName() = %q, want %q", s.DisplayName(), want)
		}
		*part = ""
	}
}
