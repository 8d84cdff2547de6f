// Pages of liquidations, reported and estimated: declarations that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { marketAt } from "./address.js";
import { Board } from "./board.js";
import { negated, symmetric } from "./chart.js";
import { always, boardAt, choice, pane } from "./declare.js";
import * as format from "./format.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

const side = (title = "Side", value = "side") => ({
  ...table.text(title, value),
  show: (one) => html`<span class=${one === "long" ? "down" : "up"}>${one}</span>`,
});
const HOUR_MS = 3_600_000;
const liquidations = {
  title: "Liquidations",
  names: { reported: "Reported", wallets: "Wallets on Hyperliquid", validation: "Liquidation map" },
  about:
    "Positions that exchanges closed. Some exchanges publish only a sample: sums are lower bounds. Wallets of Hyperliquid are inferred from fills.",
  requests: {
    reported: always("/api/liquidations"),
    wallets: ({ window }) => `/api/hyperliquid/liquidations?window=${window}`,
    validation: always("/api/heatmap-validation"),
  },
  rows: { reported: "coins", wallets: "largest" },
  choices: [choice("window", "Wallets", ["24h", "7d"])],
  figures: ({ reported }) =>
    reported &&
    Object.entries(reported.totals).map(([window, sums]) => [
      reported.server_ts - parseInt(window, 10) * HOUR_MS < reported.since
        ? `${window.replace("h", " h")}, recorded since ${format.clock(reported.since)}`
        : window.replace("h", " h"),
      sums?.long == null ? format.NONE : format.sum(sums.long + sums.short, reported.markets, reported.expected),
      sums?.long == null
        ? "not recorded"
        : html`<span class="down">${format.usd(sums.long)} longs</span> <span class="up">${format.usd(sums.short)} shorts</span>`,
    ]),
  charts: ({ reported }) => {
    if (!reported) return null;
    const [times, long, short] = ["t", "long", "short"].map((field) => reported.timeline.map((hour) => hour[field]));
    const since = reported.since;
    const before =
      times[0] < since
        ? [
            {
              start: times[0],
              end: Math.min(since, times.at(-1) + HOUR_MS),
              venue: null,
              reason: "not_whole",
              text: "not recorded of every exchange",
            },
          ]
        : [];
    return {
      start: times[0],
      end: times.at(-1) + HOUR_MS,
      panes: [
        pane(
          "hours",
          "Hour by hour",
          "USD, shorts above, longs below",
          times,
          [
            ["shorts", "up", short, "bars"],
            ["longs", "down", negated(long), "bars"],
          ],
          (value) => format.usd(value == null ? null : Math.abs(value)),
          { gaps: before, range: symmetric(1), tick: (value, increment) => format.usdTick(Math.abs(value), increment) },
        ),
      ],
    };
  },
  tables: ({ reported, wallets, validation }) => {
    const both = (window) => (row) => (row[window]?.long == null ? null : row[window].long + row[window].short);
    const venues = Object.entries(reported?.by_venue ?? {})
      .map(([venue, sums]) => ({ venue, ...sums, whole: sums.long + sums.short }))
      .sort((a, b) => b.whole - a.whole);
    const events = [
      table.time("Time", "ts"),
      table.coin(),
      table.text("Exchange", "venue"),
      side(),
      table.usd("USD", "usd"),
      table.price("Price", "price"),
    ];
    return [
      ...(reported
        ? [
            {
              name: "venues",
              half: true,
              title: "By exchange, 24 h",
              note: `since ${format.stamp(reported.since)}`,
              rows: venues,
              none: "None was reported.",
              columns: [
                table.text("Exchange", "venue"),
                table.usd("Longs", "long"),
                table.usd("Shorts", "short"),
                table.usd("Both", "whole"),
                table.count("Number", "count"),
              ],
            },
            {
              name: "coins",
              half: true,
              first: 12,
              title: "By coin",
              rows: reported.coins,
              none: "None was reported.",
              columns: [
                table.coin(),
                ...["1h", "4h", "12h", "24h"].map((window) => table.sum(window.replace("h", " h"), both(window))),
              ],
            },
            {
              name: "biggest",
              half: true,
              first: 12,
              title: "Largest of 24 h",
              rows: reported.biggest,
              none: "None was reported.",
              columns: events,
            },
            {
              name: "recent",
              half: true,
              first: 12,
              title: "Newest",
              rows: reported.recent,
              none: "None was reported.",
              columns: events,
            },
          ]
        : []),
      ...(wallets
        ? [
            {
              name: "wallets",
              first: 20,
              title: "Wallets on Hyperliquid",
              note: wallets.complete ? "inferred from fills" : "inferred from fills; the window was not recorded whole",
              rows: wallets.largest,
              none: "None was found.",
              columns: [
                table.time("Time", "t"),
                table.coin("Coin", "coin"),
                side(),
                table.usd("USD", "usd"),
                table.price("Price", "price"),
                table.text("Wallet", (row) => `${row.wallet.slice(0, 8)}…${row.wallet.slice(-4)}`),
              ],
            },
          ]
        : []),
      ...(validation
        ? [
            {
              name: "validation",
              title: "Does the liquidation map foresee them?",
              note: "rank correlation with what was then liquidated, of the map and of a naive one",
              rows: Object.entries(validation.horizons ?? {}).map(([hours, one]) => ({
                hours: Number(hours),
                sample: one.sample,
                ...one.overall,
              })),
              none: "No day has been judged yet.",
              columns: [
                table.number("Hours ahead", "hours", 0),
                table.count("Sample", "sample"),
                table.number("Map", "rho_model", 3),
                table.number("Naive", "rho_base", 3),
                table.percent("Hits", "hit_model"),
                table.text("Verdict", "verdict"),
              ],
            },
          ]
        : []),
    ];
  },
};

const REASONS = { missing_legs: "exchanges of its index are missing", truncated_book: "a book ends inside the band" };
const xray = {
  title: "Liquidation risk",
  about:
    "What would be liquidated if the price moved through a band, over what rests in the order books out to there. An estimate: leverage and entries are a model's, which nothing calibrates.",
  requests: { risk: ({ band, side }) => `/api/xray?band_pct=${band}&side=${side}` },
  rows: { risk: "rows" },
  choices: [choice("band", "Band, %", ["0.5", "1", "2", "5"], "2"), choice("side", "Side", ["both", "long", "short"])],
  tables: ({ risk }) =>
    risk
      ? [
          {
            name: "risk",
            title: "Perps",
            note: `${format.stamp(risk.t)}; without a ratio: ${risk.counts.stale} stale, ${risk.counts.insufficient} insufficient`,
            none: "No perp has an estimate and books of its index yet.",
            rows: risk.rows,
            columns: [
              table.text("Market", "market", {
                show: (market) => html`<${Link} href=${marketAt(market)}>${market}<//>`,
              }),
              table.count("Rank", "rank"),
              table.usd("Open interest", "oi_usd"),
              table.usd("Would be liquidated", "exposure_usd"),
              table.usd("Rests before it", "depth_usd"),
              table.number("Ratio", "ratio", 2, {
                show: (one, row) => (one != null && row.state === "partial" ? "≤ " : "") + format.ratio(one, 2),
              }),
              table.number("With half the leverage", "ratio_low", 2),
              table.number("With twice", "ratio_high", 2),
              table.text("Note", (row) => (row.reason ? `in part: ${REASONS[row.reason] ?? row.reason}` : "")),
            ],
          },
        ]
      : [],
};

const BOARDS = { "/liquidations": liquidations, "/xray": xray };

export const View = () => html`<${Board} board=${boardAt(BOARDS)} />`;
