// Pages of what is traded now, each a declaration that `board.js` draws: what is asked, what may be chosen, and how answers
// become figures, charts and tables. A request without an answer yet gives null.
import { html } from "../vendor/preact/preact.js";
import { Board } from "./board.js";
import { always, boardAt, choice } from "./declare.js";
import * as format from "./format.js";
import * as table from "./table.js";

function summedBy(rows, key, add) {
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(row[key]) ?? { [key]: row[key], perps: 0 };
    sum.perps += 1;
    for (const [name, value] of Object.entries(add(row)))
      sum[name] = value == null ? (sum[name] ?? null) : (sum[name] ?? 0) + value;
    sums.set(row[key], sum);
  }
  return [...sums.values()];
}

const perpsOf = (markets) =>
  (markets?.coins ?? []).flatMap((coin) => coin.perps.map((perp) => ({ ...perp, base: coin.base })));
const byOi = (a, b) => (b.oi_usd ?? -1) - (a.oi_usd ?? -1);

// Colour beside the number: four degrees on either side of zero.
function Heat({ value, most, said }) {
  if (value == null) return html`<span class="heat">${format.NONE}</span>`;
  const degree = Math.min(4, Math.ceil((Math.abs(value) / most) * 4));
  return html`<span class=${`heat ${degree ? `heat-${value < 0 ? "down" : "up"}-${degree}` : ""}`}>${said}</span>`;
}

const HEAT_COINS = 40;
const YEAR = { "8 hours": format.funding, year: format.yearly };

function fundingTable(markets, unit) {
  const coins = (markets?.coins ?? [])
    .filter((coin) => !coin.hip3 && coin.oi_usd != null)
    .sort(byOi)
    .slice(0, HEAT_COINS);
  const venues = [...new Set(coins.flatMap((coin) => coin.perps.map((perp) => perp.venue)))].sort();
  const cell = (venue) => (coin) =>
    coin.perps.filter((perp) => perp.venue === venue && !perp.hip3 && perp.funding != null).sort(byOi)[0]?.funding;
  // The strongest tenth has the deepest colour, whatever the market is like.
  const sizes = coins
    .flatMap((coin) => venues.map((venue) => Math.abs(cell(venue)(coin) ?? Number.NaN)))
    .filter((one) => one >= 0);
  const most = sizes.sort((a, b) => a - b)[Math.floor(sizes.length * 0.9)];
  return {
    name: "coins",
    title: "By coin and exchange",
    note: `per ${unit}, of the perp with the highest open interest; deepest from ${YEAR[unit](most ?? null)}`,
    rows: coins,
    columns: [
      table.coin(),
      ...venues.map((venue) => ({
        title: venue,
        kind: "heated",
        value: cell(venue),
        show: (value) => html`<${Heat} value=${value} most=${most} said=${YEAR[unit](value)} />`,
      })),
    ],
  };
}

const STREAK = (sign) => (sign > 0 ? "longs pay" : sign < 0 ? "shorts pay" : format.NONE);
const funding = {
  title: "Funding",
  names: { percentiles: "Percentiles", persistence: "Persistence", markets: "Markets" },
  about:
    "What holders of perps pay each other, on 8 hours: above zero longs pay. Compared with each market's own past, and how long its sign has lasted.",
  requests: {
    markets: always("/api/markets"),
    percentiles: ({ window }) => `/api/funding-percentiles?window=${window}`,
    persistence: ({ window }) => `/api/funding-persistence?window=${window}`,
  },
  rows: { markets: "coins", percentiles: "rows", persistence: "rows" },
  choices: [choice("window", "Window", ["7d", "30d"]), choice("unit", "Per", ["8 hours", "year"])],
  tables: ({ markets, percentiles, persistence }, { window, unit }) => [
    ...(markets ? [fundingTable(markets, YEAR[unit] ? unit : "8 hours")] : []),
    ...(percentiles
      ? [
          {
            name: "percentiles",
            first: 25,
            title: "Against its own past",
            note: `hourly rates of ${window}`,
            rows: percentiles.rows,
            none: "No perp has enough recorded hours yet.",
            columns: [
              table.coin(),
              table.text("Exchange", "venue"),
              table.usd("Open interest", "oi_usd"),
              table.funding("Now, 8 h", "live_funding"),
              table.number("Percentile", "percentile", 0),
              table.change("10th", "p10_funding", 4),
              table.change("Median", "median_funding", 4),
              table.change("90th", "p90_funding", 4),
              table.percent("Hours known", "coverage_fraction", 0),
              table.text("State", (row) => (row.row_state === "Ranked" ? "" : row.row_state)),
            ],
          },
        ]
      : []),
    ...(persistence
      ? [
          {
            name: "persistence",
            first: 25,
            title: "Sign of settled payments",
            note: `window ${window}`,
            rows: persistence.rows,
            none: "No settlement is recorded yet.",
            columns: [
              table.coin(),
              table.text("Exchange", "venue"),
              table.change("Latest rate", "latest_rate", 4),
              table.number("Hours between", "interval_h", 0),
              table.text("Sign", (row) => STREAK(row.sign)),
              table.number("Lasting, hours", "current_streak_h", 0),
              table.time("Last reversal", "last_reversal_ms"),
              table.text("Note", (row) => (row.stale ? "stale" : "")),
            ],
          },
        ]
      : []),
  ],
};

const REASON = {
  missing_anchor: "not observed at one of the three times",
  listed_recently: "listed lately",
  contract_changed: "its contract changed",
};
const openInterest = {
  title: "Open interest",
  names: { acceleration: "Acceleration", ranking: "Ranking" },
  about:
    "Contracts that are open, one side, USD: where they are, whether they grow faster than an hour ago, and the exchanges on chains.",
  requests: {
    markets: always("/api/markets"),
    acceleration: ({ min_oi: least }) => `/api/open-interest-acceleration?min_oi=${least}`,
    ranking: always("/api/perp-dex-ranking"),
  },
  rows: { markets: "coins", acceleration: "rows", ranking: "venues" },
  choices: [choice("min_oi", "At least, USD", ["0", "1000000", "10000000", "100000000"], "1000000")],
  tables: ({ markets, acceleration, ranking }) => {
    const venues = summedBy(
      perpsOf(markets).filter((perp) => !perp.hip3),
      "venue",
      (perp) => ({ oi: perp.oi_usd, volume: perp.vol24h }),
    ).sort((a, b) => (b.oi ?? -1) - (a.oi ?? -1));
    const whole = venues.reduce((sum, venue) => sum + (venue.oi ?? 0), 0);
    const turnover = (row, oi, volume) => (row[oi] && row[volume] != null ? row[volume] / row[oi] : null);
    return [
      ...(markets
        ? [
            {
              name: "venues",
              title: "By exchange",
              note: "perps, newest minute, without HIP-3",
              rows: venues,
              columns: [
                table.text("Exchange", "venue"),
                table.usd("Open interest", "oi"),
                table.share("Share", (row) => (whole && row.oi != null ? row.oi / whole : null)),
                table.usd("Volume, 24 h", "volume"),
                table.number("Volume ÷ OI", (row) => turnover(row, "oi", "volume"), 1),
                table.count("Perps", "perps"),
              ],
            },
            {
              name: "coins",
              first: 25,
              title: "By coin",
              note: "newest minute",
              rows: markets.coins.filter((coin) => !coin.hip3 && coin.oi_usd != null).sort(byOi),
              columns: [
                table.coin(),
                table.sum("Open interest", "oi_usd"),
                table.change("1 h", "oi_1h"),
                table.change("4 h", "oi_4h"),
                table.change("24 h", "oi_24h"),
                table.number("Volume ÷ OI", (row) => turnover(row, "oi_usd", "perp_vol24h"), 1),
                table.count("Exchanges", (row) => row.venues.length),
              ],
            },
          ]
        : []),
      ...(acceleration
        ? [
            {
              name: "acceleration",
              first: 25,
              title: "Acceleration",
              note: "in coins: the last hour against the hour before, in percentage points",
              rows: acceleration.rows,
              none: "No contract was observed at all three times: two hours of recording are needed.",
              columns: [
                table.coin(),
                table.text("Exchange", "venue"),
                table.usd("Open interest", "oi_usd"),
                table.change("Hour before", "previous_fraction"),
                table.change("Last hour", "recent_fraction"),
                table.number("Acceleration, pp", "acceleration_pp", 2),
              ],
            },
            {
              name: "unavailable",
              first: 10,
              title: "Without an acceleration",
              rows: acceleration.unavailable,
              none: "Every contract has one.",
              columns: [
                table.coin(),
                table.text("Exchange", "venue"),
                table.text("Contract", "symbol"),
                table.text("Reason", (row) => REASON[row.reason] ?? row.reason),
              ],
            },
          ]
        : []),
      ...(ranking
        ? [
            {
              name: "ranking",
              title: "Exchanges on chains",
              note: `by open interest; ${format.usd(ranking.total_oi_usd)} together`,
              rows: ranking.venues,
              columns: [
                table.text("Exchange", "name"),
                table.sum("Open interest", "oi_usd"),
                table.share("Share", "oi_share"),
                table.sum("Volume, 24 h", "vol24h_usd"),
                table.share("Share of volume", "vol_share"),
                table.count("Markets", "markets"),
                table.text("State", (row) => `${row.status}, ${format.duration(row.age_s)} old`),
              ],
            },
          ]
        : []),
    ];
  },
};

const BOARDS = {
  "/funding": funding,
  "/open-interest": openInterest,
};

export const View = () => html`<${Board} board=${boardAt(BOARDS)} />`;
