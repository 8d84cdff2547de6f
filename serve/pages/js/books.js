// The page of order books: a declaration that `board.js` draws, as in `trading.js`.
import { html } from "../vendor/preact/preact.js";
import { chosen, withChoices } from "./address.js";
import { Board } from "./board.js";
import { always, choice, pane } from "./declare.js";
import * as format from "./format.js";
import { Link } from "./parts.js";
import * as table from "./table.js";

const bounded = (title, value, truncated) => ({
  ...table.usd(title, value),
  show: (one, row) => (one != null && truncated(row) ? "≥ " : "") + format.usd(one),
});
// What rests between the mid and each price: bids on the left of it, asks on the right.
function curveOf({ market, mid, levels }) {
  const known = (side) => levels.filter((level) => level[side] != null);
  const [bids, asks] = [known("bid_usd").reverse(), known("ask_usd")];
  const places = [...bids.map((level) => -level.away_pct), ...asks.map((level) => level.away_pct)];
  const none = (side) => side.map(() => null);
  const lines = [
    ["bids", "up", [...bids.map((level) => level.bid_usd), ...none(asks)]],
    ["asks", "down", [...none(bids), ...asks.map((level) => level.ask_usd)]],
  ];
  const more = { across: "Away from the mid, %", tick: format.usdTick };
  const panes = [
    pane("curve", market, `USD within a distance of ${format.price(mid)}`, places, lines, format.usd, more),
  ];
  return (
    places.length > 1 && {
      start: places[0],
      end: places.at(-1),
      along: (away) => `${Number(away.toFixed(3))} %`,
      panes,
    }
  );
}

const depth = {
  title: "Order-book depth",
  about:
    "Orders within a distance of the mid price, and what a market order would cost. ≥: the recorded levels end within the band.",
  names: { books: "Books", curve: "The book" },
  requests: {
    books: always("/api/order-book-depth"),
    curve: () => chosen("market") && `/api/order-book-depth/${encodeURIComponent(chosen("market"))}`,
  },
  rows: { books: "venues", curve: "levels" },
  choices: [choice("band", "Within, %", ["0.1", "0.5", "1", "2"], "1")],
  charts: ({ curve }) => curve && curveOf(curve),
  tables: ({ books }, { band }) =>
    (books?.venues ?? []).map(({ venue, markets, missing, n_universe: universe }) => ({
      name: venue,
      title: venue,
      note: `${markets.length} of ${universe} books${missing.length ? `; missing: ${missing.join(", ")}` : ""}`,
      rows: markets.map((market) => ({ ...market, ...market.depth.find((one) => one.band_pct === Number(band)) })),
      columns: [
        table.coin(),
        table.text("Book", "symbol", {
          show: (symbol) => html`<${Link} href=${withChoices({ market: `${venue}:perp:${symbol}` })}>${symbol}<//>`,
        }),
        table.price("Mid", "mid"),
        bounded(`Bids, ${band} %`, "bid_usd", (row) => row.bid_truncated),
        bounded(`Asks, ${band} %`, "ask_usd", (row) => row.ask_truncated),
        table.change(`Imbalance, ${books.imbalance_band_pct} %`, "imbalance", 1),
        table.number(`Buying ${format.usd(books.market_order_usd)}, bps`, "cost_buy_bps", 2),
        table.number("Selling, bps", "cost_sell_bps", 2),
      ],
    })),
};

export const View = () => html`<${Board} board=${depth} />`;
