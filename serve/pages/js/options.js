// The page of a coin's options: a declaration that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { chosen, withChoices } from "./address.js";
import { Board } from "./board.js";
import { pane, rate } from "./declare.js";
import * as format from "./format.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

// Volatility over the expiries.
function termOf(expiries) {
  const value = (field) => expiries.map((expiry) => expiry[field]);
  const times = value("expiry_ms");
  const lines = [
    ["25-delta calls", "up", value("call25_iv")],
    ["25-delta puts", "down", value("put25_iv")],
    ["at the money", "price", value("atm_iv")],
  ];
  const panes = [pane("term", "Implied volatility", "by expiry, a year", times, lines, rate)];
  return times.length > 1 && { start: times[0], end: times.at(-1), panes };
}

// Volatility and open interest over the strikes of one expiry, where an exchange has a volatility or somebody an option.
function smileOf({ expiry, strikes }) {
  const held = (row) => row.iv != null || row.call_oi > 0 || row.put_oi > 0;
  const shown = strikes.slice(strikes.findIndex(held), strikes.findLastIndex(held) + 1);
  const value = (field) => shown.map((row) => row[field]);
  const places = value("strike");
  const panes = [
    pane(
      "smile",
      "Smile",
      `${expiry}, out of the money, a year`,
      places,
      [["volatility", "price", value("iv")]],
      rate,
      { across: "Strike" },
    ),
    pane(
      "held",
      "Open interest",
      "coins",
      places,
      [
        ["calls", "up", value("call_oi"), "bars"],
        ["puts", "down", value("put_oi").map((amount) => (amount == null ? null : -amount)), "bars"],
      ],
      (amount) => format.count(amount == null ? null : Math.abs(amount)),
      { across: "Strike" },
    ),
  ];
  return places.length > 1 && { start: places[0], end: places.at(-1), along: format.price, panes };
}

const options = {
  title: (coin) => `Options of ${coin}`,
  names: { options: "Open interest", iv: "Implied volatility", smile: "Smile" },
  about:
    "By expiry: implied volatility at the money and at 25 delta, open interest of calls and puts, and the price at which options would pay least.",
  requests: {
    options: (_, coin) => `/api/options/${coin}`,
    iv: (_, coin) => `/api/options/${coin}/iv`,
    smile: (_, coin) => `/api/options/${coin}/smile${chosen("expiry") ? `?expiry=${chosen("expiry")}` : ""}`,
  },
  rows: { options: "expiries", iv: "expiries", smile: "strikes" },
  figures: ({ options: data, iv }) =>
    data && [
      ["Open interest", format.usd(data.totals.notional_usd, 4), `${data.venues.length} exchanges`],
      ["Put ÷ call, open interest", format.ratio(data.totals.pcr_oi, 2), "contracts in coins"],
      ["Put ÷ call, volume", format.ratio(data.totals.pcr_vol, 2), "24 hours"],
      ["At the money, 30 days", rate(iv?.cm_30d?.atm_iv), "implied volatility, a year"],
      ["Risk reversal, 30 days", format.change(iv?.cm_30d?.rr25, 1), "calls less puts at 25 delta"],
    ],
  charts: ({ iv, smile }) => [termOf(iv?.expiries ?? []), smile && smileOf(smile)],
  tables: ({ options: data, iv }) => {
    const volatility = new Map((iv?.expiries ?? []).map((expiry) => [expiry.expiry, expiry]));
    return data
      ? [
          {
            name: "expiries",
            title: "By expiry",
            note: data.stale ? "stale: the oldest snapshot is over 20 minutes old" : `spot ${format.price(data.spot)}`,
            rows: data.expiries.map((expiry) => ({ ...volatility.get(expiry.expiry), ...expiry })),
            columns: [
              table.text("Expiry", "expiry", {
                show: (expiry) => html`<${Link} href=${withChoices({ expiry })}>${expiry}<//>`,
              }),
              table.usd("Notional", "notional_usd"),
              table.count("Calls, coins", (row) => Math.round(row.call_oi)),
              table.count("Puts, coins", (row) => Math.round(row.put_oi)),
              table.number("Put ÷ call", "pcr_oi"),
              table.price("Max pain", "max_pain"),
              table.percent("At the money", "atm_iv"),
              table.percent("25Δ call", "call25_iv"),
              table.percent("25Δ put", "put25_iv"),
              table.change("Risk reversal", "rr25", 1),
              table.text("Note", (row) => (data.partial_expiries.includes(row.expiry) ? "in part" : "")),
            ],
          },
        ]
      : [];
  },
};

export const View = ({ name }) => html`<${Board} board=${options} name=${name} />`;
