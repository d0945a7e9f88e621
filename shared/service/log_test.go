package service_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sluice/shared/service"
)

func TestNewLogger_WritesJSONFromItsLevelUp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := service.NewLogger(&out, "gateway", "warn")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("quiet")
	log.Warn("loud", "sale_id", "phone")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("not one JSON line: %v: %s", err, out.String())
	}
	if line["service"] != "gateway" || line["msg"] != "loud" || line["sale_id"] != "phone" {
		t.Errorf("line is %v", line)
	}
}

func TestNewLogger_RefusesUnknownLevels(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"", "INFO", "trace", "info+1"} {
		_, err := service.NewLogger(&bytes.Buffer{}, "gateway", level)
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), "SLUICE_LOG_LEVEL") {
			t.Errorf("level %q: error %v, want a usage error that names the variable", level, err)
		}
	}
}
