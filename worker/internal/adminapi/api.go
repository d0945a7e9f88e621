package adminapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

// Deadlines of an answer.
const (
	answerWithin = 8 * time.Second
	redisWithin  = 2 * time.Second
)

// The one admin token has this name in the audit log.
const who = "admin"

// operatorHeader is where an operator may say who is at work.
const operatorHeader = "Sluice-Operator"

// Refusals by the stores; every other error is a fault.
var (
	ErrNoSale          = errors.New("no such sale")
	ErrRetired         = errors.New("sale is retired")
	ErrNotLoaded       = errors.New("sale was never loaded")
	ErrRebuilding      = errors.New("sale is being rebuilt")
	ErrTotalLimit      = errors.New("a sale cannot have that many units")
	ErrOtherAdjustment = errors.New("the adjustment's id is taken by another one")
	ErrNoTemplate      = errors.New("no such template")
	ErrTemplateExists  = errors.New("the template's id is taken by another rule")
	ErrTemplateTotal   = errors.New("the sale's template does not have that many coupons")
	ErrOffShelf        = errors.New("the sale's template is off the shelf")
	ErrNoLetter        = errors.New("no such dead letter")
	ErrLetterSettled   = errors.New("the dead letter is settled otherwise")
	ErrUnreadable      = errors.New("the hand-over cannot be read")
)

// Stores are what operators see and change.
type Stores struct {
	Sales     sales
	Redis     snapshots
	Units     adjuster
	Evidence  auditor
	Templates templates
	Coupons   coupons
	Letters   letters
	HandOvers handOvers
	Changes   changes
	Refunds   refunds
	Ledger    ledger

	Reconciliations reconciliations
	Reconciler      reconciler

	Backlog backlogs
	Promise time.Duration // of the backlog's age
	Pace    paceRow
	Pacer   pacer

	Alerts watch
}

// API answers under /admin/. It may be served before it is opened.
type API struct {
	admitted func(*http.Request) bool
	disabled bool
	mux      *http.ServeMux
	log      *slog.Logger
	stores   atomic.Pointer[Stores]
	auditing chan struct{} // one audit at a time: it reads a whole sale into memory
	faults   service.Quiet
}

// New makes an API that lets those in who show token; without one it refuses all.
func New(token string, log *slog.Logger) *API {
	a := &API{
		admitted: service.BearerOf(token), disabled: token == "", mux: http.NewServeMux(), log: log, auditing: make(chan struct{}, 1),
	}
	a.get("/admin/v1/sales", a.listSales)
	a.get("/admin/v1/sales/{sale}", a.oneSale)
	a.post("/admin/v1/sales/{sale}/pause", a.pause)
	a.post("/admin/v1/sales/{sale}/resume", a.resume)
	a.post("/admin/v1/sales/{sale}/close", a.close)
	a.post("/admin/v1/sales/{sale}/rebuild", a.rebuild)
	a.post("/admin/v1/sales/{sale}/stock", a.adjust)
	a.get("/admin/v1/sales/{sale}/audit", a.audit)
	a.handle("/admin/v1/templates", "GET, HEAD, POST", a.templates, http.MethodGet, http.MethodHead, http.MethodPost)
	a.post("/admin/v1/templates/{id}/copy", a.copyTemplate)
	a.post("/admin/v1/templates/{id}/off-shelf", a.takeOffShelf)
	a.post("/admin/v1/coupons/{id}/void", a.voidCoupon)
	a.get("/admin/v1/dead-letters", a.listLetters)
	a.post("/admin/v1/dead-letters/{id}/retry", a.retryLetter)
	a.post("/admin/v1/dead-letters/{id}/drop", a.dropLetter)
	a.get("/admin/v1/audit-log", a.listChanges)
	a.get("/admin/v1/refunds-owed", a.listRefunds)
	a.get("/admin/v1/ledger", a.listLedger)
	a.get("/admin/v1/backlog", a.showBacklog)
	a.get("/admin/v1/alerts", a.listAlerts)
	a.handle("/admin/v1/reconciliations", "GET, HEAD, POST", a.reconciled, http.MethodGet, http.MethodHead, http.MethodPost)
	a.get("/admin/v1/pace", a.onePace)
	a.post("/admin/v1/pace/pause", a.pausePace)
	a.post("/admin/v1/pace/resume", a.resumePace)
	a.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound.write(w) })
	return a
}

// Open makes the API answer. Until then it says that the worker is starting.
func (a *API) Open(s Stores) { a.stores.Store(&s) }

// ServeHTTP answers one request. Nothing under /admin/ may be cached.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case a.disabled:
		noToken.write(w)
	case !a.admitted(r):
		w.Header().Set("WWW-Authenticate", "Bearer")
		unauthenticated.write(w)
	case r.URL.EscapedPath() != r.URL.Path || path.Clean(r.URL.Path) != r.URL.Path: // a path has one spelling
		notFound.write(w)
	default:
		a.mux.ServeHTTP(w, r)
	}
}

// call is one request, admitted.
type call struct {
	*Stores
	w    http.ResponseWriter
	r    *http.Request
	sale string // of the path; "" when it names none
	by   sale.Actor
}

func (a *API) get(pattern string, answer func(context.Context, call)) {
	a.handle(pattern, "GET, HEAD", answer, http.MethodGet, http.MethodHead)
}

func (a *API) post(pattern string, answer func(context.Context, call)) {
	a.handle(pattern, http.MethodPost, answer, http.MethodPost)
}

func (a *API) handle(pattern, allow string, answer func(context.Context, call), methods ...string) {
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		allowed := false
		for _, m := range methods {
			allowed = allowed || r.Method == m
		}
		c := call{Stores: a.stores.Load(), w: w, r: r, sale: r.PathValue("sale")}
		var bad *problem
		switch c.by, bad = actorOf(r); {
		case !allowed:
			w.Header().Set("Allow", allow)
			methodNotAllowed.write(w)
		case bad != nil:
			bad.write(w)
		case c.Stores == nil:
			unavailable.write(w)
		case r.PathValue("sale") != "" && sale.ValidateID(c.sale) != nil:
			noSuchSale.write(w)
		default:
			ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
			defer cancel()
			answer(ctx, c)
		}
	})
}

// actorOf says who is at work, as the audit log will.
func actorOf(r *http.Request) (sale.Actor, *problem) {
	by := sale.Actor{Who: who, Address: r.RemoteAddr}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		by.Address = host
	}
	names := r.Header.Values(operatorHeader)
	if len(names) == 0 {
		return by, nil
	}
	by.Operator = names[0]
	printable := len(by.Operator) >= 1 && len(by.Operator) <= 64
	for i := range len(by.Operator) {
		printable = printable && by.Operator[i] >= ' ' && by.Operator[i] <= '~'
	}
	if len(names) > 1 || !printable {
		return by, invalidRequest(operatorHeader, "The header "+operatorHeader+" must be one name of 1 to 64 printable ASCII characters.")
	}
	return by, nil
}

// fail answers for what a store refuses, or for its fault.
func (a *API) fail(c call, err error) {
	if p := problemOf(err); p != nil {
		p.write(c.w)
		return
	}
	if c.r.Context().Err() == nil && a.faults.Allow() { // else nobody waits for the answer any more
		a.log.Warn("operator's call failed", "path", c.r.URL.Path, "error", err)
	}
	unavailable.write(c.w)
}
