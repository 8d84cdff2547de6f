// The request behind what is shown, in the languages of those who will send it again.
const isSeries = (path) => path.startsWith("/api/series/");
const inFormat = (path, format) => `${path}${path.includes("?") ? "&" : "?"}format=${format}`;

// `rows`: the array of a JSON answer that is its table, if it has one; `forms`: whether the API gives that as CSV and Parquet too.
export function snippets(path, rows, forms) {
  const at = (address) => location.origin + address;
  if (isSeries(path)) {
    return [
      ["curl", `curl --compressed \\\n  '${at(path)}'`],
      ["Python", `import pandas as pd\n\nurl = "${at(inFormat(path, "csv"))}"\n` +
        `df = pd.read_csv(url, comment="#", parse_dates=["time_utc"])`],
      ["DuckDB", `-- over HTTP, by the extension httpfs\nFROM read_parquet(\n  '${at(inFormat(path, "parquet"))}');`],
    ];
  }
  if (forms) {
    return [
      ["curl", `curl --compressed '${at(path)}'`],
      ["Python", `import pandas as pd\n\ndf = pd.read_parquet("${at(inFormat(path, "parquet"))}")`],
      ["DuckDB", `-- over HTTP, by the extension httpfs\nFROM read_parquet(\n  '${at(inFormat(path, "parquet"))}');`],
    ];
  }
  return [
    ["curl", `curl --compressed '${at(path)}'`],
    ["Python", `import pandas as pd\nimport requests\n\nbody = requests.get("${at(path)}").json()\n` +
      `df = pd.json_normalize(body${rows ? `["${rows}"]` : ""})`],
    // DuckDB asks for the size first; the state of now has another size and ETag a moment later.
    ["DuckDB", `-- over HTTP, by the extension httpfs\n${path === "/api/status" ? "SET force_download = true;\n" : ""}` +
      `${rows ? `SELECT unnest(${rows}, recursive := true)\n` : ""}FROM read_json('${at(path)}');`],
  ];
}

export const downloads = (path, forms) =>
  isSeries(path) || forms
    ? [["CSV", inFormat(path, "csv")], ["Parquet", inFormat(path, "parquet")], ["Arrow", inFormat(path, "arrow")],
      ...(path.startsWith("/api/series/") ? [["SQL", inFormat(path, "sql")]] : []), ["JSON", path]]
    : [["JSON", path]];

const WORDS = /(--[^\n]*|#[^\n]*)|('[^']*'|"[^"]*")|\b(import|as|FROM|SELECT|curl)\b/g;
const KINDS = ["comment", "string", "word"];

// The parts of a snippet with the kind of each: a comment, a string, a word of the language, or nothing of these.
export function coloured(code) {
  const parts = [];
  let end = 0;
  for (const found of code.matchAll(WORDS)) {
    parts.push(["", code.slice(end, found.index)], [KINDS[found.slice(1).findIndex((text) => text)], found[0]]);
    end = found.index + found[0].length;
  }
  return [...parts, ["", code.slice(end)]];
}
