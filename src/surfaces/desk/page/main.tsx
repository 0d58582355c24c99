/**
 * Starts the page of the desk. It runs in a browser, and talks to the server only through the client that programs use
 * too, with a session of its own (`page-session.ts`). Foreign text becomes text nodes, never HTML: values as they are
 * (`verbatim.tsx`), prose as Markdown (`markdown.tsx`). What can be decided without a browser is pure: `inbox-state.ts`,
 * `draft.ts`, `timeline.ts`, `route.ts`.
 */
import { render } from "preact";
import { App } from "./app.tsx";
import { watchBuild } from "./build.ts";
import { browserKeys } from "./page-key.ts";
import { PageSession } from "./page-session.ts";
import { pageClock } from "./session.ts";
import { rememberWrapping } from "./wrapping.ts";

const root = document.querySelector("#app");
if (root !== null) {
  const url = new URL(".", location.href).href;
  const build = document.querySelector<HTMLMetaElement>('meta[name="jp-build"]');
  const session = new PageSession({
    url,
    fetch: watchBuild(fetch.bind(window), {
      own: build?.content,
      storage: sessionStorage,
      reload: () => location.reload(),
    }),
    clock: pageClock,
    keys: browserKeys,
  });
  rememberWrapping(localStorage);
  render(<App session={session} />, root);
}
