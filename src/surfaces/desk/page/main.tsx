/**
 * Starts the desk's page. It runs in a browser and reaches the server only through the client that programs use, with
 * its own session (`page-session.ts`). Untrusted text becomes text nodes, never HTML: values verbatim (`verbatim.tsx`),
 * prose as Markdown (`markdown.tsx`). Logic that needs no browser is pure: `inbox-state.ts`, `draft.ts`, `timeline.ts`,
 * `route.ts`.
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
