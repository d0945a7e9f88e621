package alerts

import (
	"strconv"
	"strings"
	"time"

	"sluice/shared/sale"
)

// payload is Alertmanager's webhook payload, version 4, of the alerts of one name.
type payload struct {
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   int               `json:"truncatedAlerts"`
	Status            sale.AlertState   `json:"status"` // firing while one of the alerts is
	Receiver          string            `json:"receiver"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Alerts            []payloadAlert    `json:"alerts"`
}

type payloadAlert struct {
	Status       sale.AlertState   `json:"status"`
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"` // 0001-01-01T00:00:00Z while it fires
	GeneratorURL string            `json:"generatorURL"`
	Fingerprint  string            `json:"fingerprint"`
}

// payloadOf says of each alert what the receiver has yet to hear.
func payloadOf(name sale.AlertName, alerts []sale.Alert, c Config) payload {
	p := payload{
		Version: "4", GroupKey: `{}:{alertname="` + string(name) + `"}`, Status: sale.AlertResolved, Receiver: "sluice",
		GroupLabels: map[string]string{"alertname": string(name)},
	}
	for _, a := range alerts {
		said := payloadAlert{
			Status: untold(a), Labels: labelsOf(a), StartsAt: a.FiredAt.UTC(), Fingerprint: a.Fingerprint(),
			Annotations: map[string]string{
				"summary": a.Summary, "value": strconv.FormatFloat(a.Value, 'g', -1, 64), "runbook_url": c.RunbookOf(name),
			},
		}
		if said.Status == sale.AlertFiring {
			p.Status = sale.AlertFiring
		} else {
			said.EndsAt = a.ResolvedAt.UTC()
		}
		p.Alerts = append(p.Alerts, said)
	}
	p.CommonLabels = common(p.Alerts, func(a payloadAlert) map[string]string { return a.Labels })
	p.CommonAnnotations = common(p.Alerts, func(a payloadAlert) map[string]string { return a.Annotations })
	return p
}

func labelsOf(a sale.Alert) map[string]string {
	labels := map[string]string{"alertname": string(a.Name), "severity": a.Name.Severity()}
	if a.SaleID != "" {
		labels["sale"] = a.SaleID
	}
	if a.Dependency != "" {
		labels["dependency"] = a.Dependency
	}
	return labels
}

// common is what all have in common.
func common(alerts []payloadAlert, of func(payloadAlert) map[string]string) map[string]string {
	same := map[string]string{}
	for i, a := range alerts {
		if i == 0 {
			for k, v := range of(a) {
				same[k] = v
			}
			continue
		}
		for k, v := range same {
			if of(a)[k] != v {
				delete(same, k)
			}
		}
	}
	return same
}

// anchor is how a heading of the runbook is linked to.
func anchor(name sale.AlertName) string { return strings.ToLower(string(name)) }
