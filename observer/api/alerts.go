package api

// AlertsTaken is the answer of POST /alerts/webhook.
type AlertsTaken struct {
	Status string `json:"status"`
	// Alerts is how many there were, Told how many of them were said to somebody: not those
	// about nobody that is known, nor those that had been said or are over.
	Alerts int `json:"alerts"`
	Told   int `json:"told"`
}
