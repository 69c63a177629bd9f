package api

import "testing"

func TestDisplayName(t *testing.T) {
	t.Parallel()
	s := Session{
		ID:        "0c33de60-1111",
		Name:      "builder",
		Title:     "Fix the login test",
		Label:     "shop-1",
		SessionID: "5e8f0000-2222",
	}
	for _, x := range []struct {
		want string
		take *string // what the session then lacks
	}{
		{"builder", &s.Name},
		{"Fix the login test", &s.Title},
		{"shop-1", &s.Label},
		{"5e8f0000", &s.SessionID},
		{"0c33de60", &s.ID},
		{"", &s.ID},
	} {
		if got := s.DisplayName(); got != x.want {
			t.Errorf("DisplayName() = %q, want %q", got, x.want)
		}
		*x.take = ""
	}
}
