// The page about the API: every operation of /openapi.json as a form that sends the request and shows the answer.
"use strict";

const SHOWN = 20000; // characters of an answer

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

function control(parameter) {
  const schema = parameter.schema || {};
  const label = { "aria-label": parameter.name, name: parameter.name, required: parameter.required };
  const example = parameter.in === "path" || parameter.required ? parameter.example || (schema.enum || [])[0] : undefined;
  if (!schema.enum) {
    const hint = parameter.example || schema.default || schema.pattern || schema.type || "";
    return make("input", { ...label, placeholder: String(hint), value: example });
  }
  const options = schema.enum.map((value) => make("option", { value, selected: value === example }, String(value)));
  if (!parameter.required) options.unshift(make("option", { value: "" }, schema.default ? `(${schema.default})` : ""));
  return make("select", label, ...options);
}

function requestUrl(path, parameters, form) {
  const query = new URLSearchParams();
  let url = path;
  for (const { name, in: place } of parameters) {
    const value = form.elements[name].value.trim();
    if (place === "path") url = url.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.set(name, value);
  }
  return query.size ? `${url}?${query}` : url;
}

async function send(url, shown) {
  const key = document.getElementById("key").value;
  shown.textContent = `GET ${url} …`;
  const started = performance.now();
  try {
    const response = await fetch(url, { headers: key ? { "X-API-Key": key } : {}, cache: "no-store" });
    const type = response.headers.get("content-type") || "";
    const body = /json|text/.test(type) ? await response.text() : `${(await response.arrayBuffer()).byteLength} bytes`;
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const rest = body.length > SHOWN ? `\n… ${body.length - SHOWN} more characters` : "";
    const took = Math.round(performance.now() - started);
    shown.textContent = `GET ${url}\n${response.status} in ${took} ms\n${headers}\n\n${pretty(body).slice(0, SHOWN)}${rest}`;
  } catch (error) {
    shown.textContent = `GET ${url}\n${error}`;
  }
}

function pretty(body) {
  if (body.length > SHOWN) return body;
  try { return JSON.stringify(JSON.parse(body), null, 1); } catch { return body; }
}

function operation(path, get) {
  const parameters = get.parameters || [];
  const shown = make("pre", { tabindex: "0" });
  const rows = parameters.map((parameter) => make("tr", {},
    make("td", {}, make("code", {}, parameter.name), parameter.required ? " (required)" : ""),
    make("td", {}, control(parameter)),
    make("td", {}, parameter.description || "")));
  const form = make("form", { onsubmit: (event) => { event.preventDefault(); send(requestUrl(path, parameters, form), shown); } },
    make("table", {}, ...rows), make("p", {}, make("button", { type: "submit" }, "Send")));
  const answers = Object.entries(get.responses || {}).map(([status, answer]) => make("li", {}, make("code", {}, status), ` ${answer.description}`));
  const schema = get.responses["200"].content?.["application/json"]?.schema;
  return make("details", { id: get.operationId, open: location.hash === `#${get.operationId}` },
    make("summary", {}, make("code", {}, path), ` ${get.summary}`), form, shown,
    make("ul", {}, ...answers),
    make("details", {}, make("summary", {}, "JSON Schema of the answer"), make("pre", {}, JSON.stringify(schema, null, 1))));
}

async function show() {
  const main = document.getElementById("operations");
  try {
    const description = await (await fetch("/openapi.json")).json();
    main.replaceChildren(...Object.entries(description.paths).flatMap(([path, item]) => item.get ? [operation(path, item.get)] : []));
    const lines = description.info.description.split("\n").filter(Boolean);
    document.getElementById("about").replaceChildren(...lines.map((line) => make("p", {}, line.replace(/^- /, ""))));
  } catch (error) {
    main.textContent = `The description cannot be read: ${error}`;
  }
}

show();
