// Package costs measures what the operations of a sale cost, fits package capacity's model to
// it, and says by how much the model errs where it was not fitted.
//
//	1 gateway, 1 worker      rest · accepts, the worker halted · orders of that backlog · scripts
//	                         (the same buyers again) · refusals · polls · rushes over all, half and a
//	                         quarter of the connections                            ─► fit
//	2 and 4 of each          a rush and refusals, predicted before they are run    ─► error
//
// Every size has a stack of its own, of real processes, and every order is judged.
package costs
