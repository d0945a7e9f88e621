package compare

import (
	"strings"
	"testing"
)

func TestNotes_SayWhyTheIncidentGivesOutTooMany(t *testing.T) {
	t.Parallel()
	r := run{Config: Quick()}
	notes := strings.Join(r.notes(), "\n")
	for _, cause := range []string{
		"of what the others give out meanwhile it knows nothing",
		"forgets what it has taken itself and not yet committed",
		"waits up to 4s for a connection",
		"runs up to 30s",
		"left after 3s",
		"The incident is always first in a round",
	} {
		if !strings.Contains(notes, cause) {
			t.Errorf("the notes do not say: %s\n%s", cause, notes)
		}
	}
	if strings.Contains(notes, "hardly stop") {
		t.Error("the notes say what was not measured")
	}
}
