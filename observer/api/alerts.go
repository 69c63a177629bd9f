package api

// AlertsTaken is the answer of POST /alerts/webhook.
type AlertsTaken struct {
	Status string `json:"status"`
	// Alerts is how many there were, Told how many of them are about an agent that is
	// known and stand for a notice.
	Alerts int `json:"alerts"`
	Told   int `json:"told"`
}
