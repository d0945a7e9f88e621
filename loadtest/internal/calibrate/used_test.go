package calibrate

import (
	"testing"
	"time"

	"sluice/loadtest/internal/report"
)

func TestUsed_AddsUpTriesAndNoRests(t *testing.T) {
	t.Parallel()
	var u used
	u.add([]report.Process{{Name: "redis", CPUSeconds: 1, ResidentMB: 30}, {Name: report.OtherProcess, CPUSeconds: 2}}, 4*time.Second, 1000)
	u.add([]report.Process{{Name: "redis", CPUSeconds: 3, ResidentMB: 20}, {Name: report.OtherProcess, CPUSeconds: 2}}, 4*time.Second, 3000)
	all := u.all()
	if len(all) != 2 || all[0] != (report.Process{Name: "redis", Cores: 0.5, CPUSeconds: 4, MicrosPerTry: 1000, ResidentMB: 30}) || all[1] != (report.Process{Name: report.OtherProcess, Cores: 0.5, CPUSeconds: 4}) {
		t.Errorf("%+v", all)
	}
}
