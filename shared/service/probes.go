package service

import (
	"encoding/json"
	"net/http"

	"sluice/shared/sale"
)

// probe is the body of every probe's answer.
type probe struct {
	Status string        `json:"status"`
	Sale   string        `json:"sale,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Phases []PhaseReport `json:"phases,omitempty"`
	Build  *Version      `json:"build,omitempty"`
}

// addProbes adds the probes. They read memory only.
func addProbes(mux *http.ServeMux, h *Health) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, r *http.Request) {
		body := probe{Status: "alive"}
		if r.URL.Query().Has("verbose") {
			build := ReadVersion()
			body.Build = &build
		}
		writeProbe(w, http.StatusOK, body)
	})
	mux.HandleFunc("GET /startupz", func(w http.ResponseWriter, r *http.Request) {
		status := StatusWarming
		if h.Warm() {
			status = StatusReady
		}
		answer(w, r, h, status)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { answer(w, r, h, h.Status()) })
	mux.HandleFunc("GET /readyz/sales/{sale}", func(w http.ResponseWriter, r *http.Request) {
		answerSale(w, r.PathValue("sale"), h)
	})
}

func answer(w http.ResponseWriter, r *http.Request, h *Health, status Status) {
	body := probe{Status: string(status)}
	if r.URL.Query().Has("verbose") {
		body.Reason, _ = h.Held()
		body.Phases = h.Phases()
	}
	writeProbe(w, codeOf(status), body)
}

// answerSale gates one sale: the process must be ready, and so must the sale.
func answerSale(w http.ResponseWriter, saleID string, h *Health) {
	if h.SaleReady == nil {
		writeProbe(w, http.StatusNotFound, probe{Status: "not_found", Reason: "this service serves no sales"})
		return
	}
	if err := sale.ValidateID(saleID); err != nil {
		writeProbe(w, http.StatusNotFound, probe{Status: "not_found", Reason: err.Error()})
		return
	}
	if status := h.Status(); status != StatusReady {
		writeProbe(w, codeOf(status), probe{Status: string(status), Sale: saleID})
		return
	}
	if err := h.SaleReady(saleID); err != nil {
		writeProbe(w, http.StatusServiceUnavailable, probe{Status: "not_ready", Sale: saleID, Reason: err.Error()})
		return
	}
	writeProbe(w, http.StatusOK, probe{Status: string(StatusReady), Sale: saleID})
}

func codeOf(status Status) int {
	if status == StatusReady {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func writeProbe(w http.ResponseWriter, code int, body probe) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // fails only when the prober has gone
}
