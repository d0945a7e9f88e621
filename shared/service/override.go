package service

// StatusHeld is that of a process which an operator holds unready.
const StatusHeld Status = "held"

// Hold makes the process unready, whatever it could do, until Unhold: an operator wants
// no more buyers routed here. It serves on. reason is shown by the verbose probe.
func (h *Health) Hold(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held, h.reason = true, reason
}

// Unhold takes Hold back. The process is ready again if it is warm.
func (h *Health) Unhold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held, h.reason = false, ""
}

// Held tells why an operator holds the process unready, and whether.
func (h *Health) Held() (reason string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason, h.held
}
