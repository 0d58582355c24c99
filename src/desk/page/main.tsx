/**
 * Starts the page of the desk. It runs in a browser, talks to the server only through the API (`api.ts`, `live.ts`),
 * and trusts nothing that comes from there: `item.ts` reads it field by field, and foreign text becomes text nodes,
 * never HTML (`markdown.tsx`, `code.tsx`). What can be decided without a browser is pure: `inbox-state.ts`,
 * `draft.ts`, `timeline.ts`, `route.ts`.
 */
import { render } from "preact";
import { Api } from "./api.ts";
import { App } from "./app.tsx";

const root = document.querySelector("#app");
if (root !== null) render(<App api={new Api(fetch.bind(window))} />, root);
