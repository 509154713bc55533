// A form made from a type's definition.
import { h } from "/ui.js";

const WHOLE = /^(u?int(8|16|32|64)|byte|char)$/;

/** An element, and `read()` that gives the values or throws what is wrong. */
export function form({ fields, value }) {
  const parts = fields.map((field) => [field.name, one(field, value?.[field.name])]);
  return {
    element: h("div", parts.map(([, part]) => part.element)),
    read: () => Object.fromEntries(parts.map(([name, part]) => [name, part.read()])),
  };
}

function one(field, value) {
  const label = (input, hint = "") => h("label.field", h("span", h("span.mono", field.name), " ", h("span.age", field.type + field.arity)), h("span", input, hint));
  if (field.arity) {
    const input = h("textarea", { rows: Math.min(6, 1 + Math.ceil(JSON.stringify(value ?? []).length / 60)), value: JSON.stringify(value ?? []), spellcheck: false });
    return { element: label(input), read: () => { try { return JSON.parse(input.value); } catch { throw new Error(`${field.name}: a list such as [1, 2] is expected`); } } };
  }
  if (field.fields) {
    const inner = form({ fields: field.fields, value });
    return { element: h("fieldset", h("legend", h("span.mono", field.name), " ", field.type), inner.element), read: inner.read };
  }
  if (field.type === "bool" || field.type === "boolean") {
    const input = h("input", { type: "checkbox", checked: Boolean(value) });
    return { element: label(input), read: () => input.checked };
  }
  if (field.type.startsWith("string") || field.type.startsWith("wstring")) {
    const input = h("input", { value: value ?? "", spellcheck: false });
    return { element: label(input), read: () => input.value };
  }
  const whole = WHOLE.test(field.type);
  const input = h("input", { type: "number", step: whole ? 1 : "any", value: value ?? 0 });
  return { element: label(input), read: () => { const n = Number(input.value); if (input.value === "" || !Number.isFinite(n) || (whole && !Number.isInteger(n))) throw new Error(`${field.name}: a ${whole ? "whole " : ""}number is expected`); return n; } };
}
