package api

// AlertsTaken is the answer of POST /alerts/webhook.
type AlertsTaken struct {
	Status string `json:"status"`
	// Alerts counts the alerts, Told those that gave a notice: not those of unknown
	// agents, nor those that were given already or are over.
	Alerts int `json:"alerts"`
	Told   int `json:"told"`
}
