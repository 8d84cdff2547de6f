// Pages of what happened lately, spikes and listings: declarations that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { marketAt, pageAt } from "./address.js";
import { Board } from "./board.js";
import { always, boardAt, choice } from "./declare.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

const outcomes = [
  table.count("Outcomes", "n"),
  table.percent("Went on", "hit_rate"),
  table.percent("By chance", "base_rate"),
  table.change("Quarter below", "q1"),
  table.change("Median", "median"),
  table.change("Quarter above", "q3"),
  table.text("Note", (row) => (row.low_n ? "fewer than 30" : "")),
];
const horizon = (minutes) => (of) => ({ ...of, ...of.overall.find((one) => String(one.horizon_min) === minutes) });
const spikesOf = (title, request, more, feed = false) => ({
  title,
  about:
    "Minutes with far more volume than usual, and what the price did after 5, 15 and 60 minutes: how often it went on in the direction of the spike, and how often it would have by chance.",
  requests: { spikes: request, feed: feed ? always("/api/spikes?range=24h&limit=50") : () => null },
  names: { feed: "Newest" },
  rows: { spikes: "overall", feed: "spikes" },
  choices: [
    choice("window", "Window", ["7d", "30d", "all"], "30d"),
    choice("horizon", "Minutes after", ["5", "15", "60"]),
  ],
  tables: ({ spikes, feed: newest }, { horizon: minutes }) => [
    ...(newest ? [newestOf(newest.spikes, [5, 15, 60])] : []),
    ...(spikes
      ? [
          {
            name: "overall",
            title: "Outcomes",
            note: `${spikes.sample} spikes, ${spikes.pending} not due yet`,
            rows: spikes.overall,
            columns: [table.number("Minutes after", "horizon_min", 0), ...outcomes],
          },
          {
            name: "venues",
            title: `By exchange, ${minutes} minutes after`,
            rows: spikes.by.venues.map(horizon(minutes)),
            columns: [table.text("Exchange", (row) => row.venue + (row.hip3 ? " HIP-3" : "")), ...outcomes],
          },
          {
            name: "directions",
            half: true,
            title: `By direction, ${minutes} minutes after`,
            rows: spikes.by.directions.map(horizon(minutes)),
            columns: [table.text("Direction", "dir"), ...outcomes],
          },
          ...more(spikes),
        ]
      : []),
  ],
});
const newestOf = (rows, horizons) => ({
  name: "recent",
  first: 20,
  title: "Newest",
  note: "in 24 hours",
  none: "None in 24 hours.",
  rows,
  columns: [
    table.time("Time", "ts"),
    ...(rows.some((row) => row.base) ? [table.coin()] : []),
    table.text("Market", (row) => row.market ?? `${row.venue} ${row.symbol}`, {
      show: (said, row) => (row.market ? html`<${Link} href=${marketAt(said)}>${said}<//>` : said),
    }),
    table.text("Direction", "dir"),
    table.number("Deviations", "sig", 1),
    table.usd("Volume", "volume_usd"),
    table.price("Price", "price"),
    ...horizons.map((minutes) =>
      table.change(`${minutes} min`, (row) => row.outcomes.find((one) => one.horizon_min === minutes)?.return),
    ),
  ],
});
const spikeAt = (base) => html`<${Link} href=${pageAt(`/spikes/${encodeURIComponent(base)}`)}>${base}<//>`;
const spikes = spikesOf(
  "Volume spikes",
  ({ window }) => `/api/spike-stats?window=${window}`,
  (data) => [
    {
      name: "coins",
      half: true,
      title: "By coin, 60 minutes after",
      rows: data.coins,
      columns: [
        { ...table.coin(), show: spikeAt },
        table.count("Outcomes", "n"),
        table.percent("Went on", "hit_rate"),
        table.change("Median", "median"),
      ],
    },
  ],
  true,
);
const coinSpikes = spikesOf(
  (coin) => `Volume spikes of ${coin}`,
  ({ window }, coin) => `/api/spike-stats/${encodeURIComponent(coin)}?window=${window}`,
  (data) => [{ ...newestOf(data.recent, data.horizons_min), note: "" }],
);

const newListings = {
  title: "New listings",
  about: "USDT perps that Binance and Bybit have listed lately, and what they have done since.",
  requests: { listings: ({ window }) => `/api/new-listings?window=${window}` },
  rows: { listings: "listings" },
  choices: [choice("window", "Window", ["30d", "90d"], "90d")],
  tables: ({ listings }, { window }) =>
    listings
      ? [
          {
            name: "listings",
            title: `Listed in ${window}`,
            rows: listings.listings,
            note: [
              ...listings.failed.map((venue) => `${venue}: its list could not be read last`),
              ...listings.missing.map((venue) => `${venue}: never read`),
            ].join("; "),
            none: `Neither Binance nor Bybit has listed a perp in ${window}.`,
            columns: [
              table.coin(),
              table.text("Exchange", "venue"),
              table.text("Contract", "symbol"),
              table.time("Listed", (row) => row.listed_ms ?? row.launch_ms),
              table.price("First", "first_open"),
              table.price("Now", "price"),
              table.change("Since", "change", 1),
              table.usd("Open interest", "oi_usd"),
              table.usd("Volume, 24 h", "vol_24h"),
              table.funding("Funding, 8 h", "funding"),
              table.text("Note", (row) => (row.live === false ? "not trading" : "")),
            ],
          },
        ]
      : [],
};

const BOARDS = { "/spikes": spikes, "/new-listings": newListings };

export function View({ name }) {
  const board = boardAt(BOARDS);
  return html`<${Board} board=${board === spikes && name ? coinSpikes : board} name=${name} />`;
}
