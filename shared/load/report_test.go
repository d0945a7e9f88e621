package load

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestReportWait_SaysWhatIsWaitedForAsFarAsItIsKnown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		pause sale.PacePause
		err   error
		want  []string
	}{
		"orders": {want: []string{`msg="load waits for hand-overs to be ordered" sale=phone last_seq=7` + "\n"}},
		"an operator, by name": {pause: sale.PacePause{Paused: true, By: sale.Actor{Who: "admin", Operator: "ada"}, At: at},
			want: []string{`why="the pace is paused since 2026-12-01T10:00:00Z by ada: POST /admin/v1/pace/resume`}},
		"an operator, by credential": {pause: sale.PacePause{Paused: true, By: sale.Actor{Who: "admin"}, At: at}, want: []string{"Z by admin: "}},
		"somebody":                   {pause: sale.PacePause{Paused: true}, want: []string{`why="the pace is paused: POST`}},
		"the stream too":             {pause: sale.PacePause{Paused: true}, err: errors.New("no responders"), want: []string{`error="no responders"`, `why="`}},
	} {
		var text bytes.Buffer
		l := Loader{Truth: &stores{pause: tc.pause}, Log: slog.New(slog.NewTextHandler(&text, nil))}
		l.reportWait(t.Context(), "phone", 7, tc.err)
		for _, want := range tc.want {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: %s lacks %s", name, &text, want)
			}
		}
	}
}
