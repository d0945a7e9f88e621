// How elements are made and changed.

// el makes an element; what is in it is text, never markup.
export function el(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) if (v != null && v !== false) e.setAttribute(k, v === true ? '' : v);
  e.append(...children.filter((c) => c != null));
  return e;
}

// put writes text only where it differs, so that nothing flickers and no selection is lost.
export function put(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// set writes an attribute only where it differs; null takes it away.
export function set(e, name, value) {
  if (value == null) e.removeAttribute(name);
  else if (e.getAttribute(name) !== String(value)) e.setAttribute(name, value);
}

export const get = (id) => document.getElementById(id);

// focus moves to what is not a control.
export function focus(e) {
  e.tabIndex = -1;
  e.focus({ preventScroll: false });
}
