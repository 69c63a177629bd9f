package supervise

import "testing"

func BenchmarkFamily(b *testing.B) {
	for b.Loop() {
		family(1)
	}
}

func BenchmarkAgain(b *testing.B) {
	argv := []string{
		"claude",
		"--model",
		"opus",
		"--resume",
		"5f0e",
		"--allowedTools",
		"Bash",
		"Read",
		"--ide",
		"Fix it.",
	}
	for b.Loop() {
		if _, err := Again(argv, "Go on."); err != nil {
			b.Fatal(err)
		}
	}
}
