/**
 * Reloads a page whose build differs from the server's, so that an open page works with an upgraded desk. Drafts are in
 * the browser's storage and survive it.
 */

/** The page's own build, and how to reload it. */
export interface BuildOptions {
  /** The build of the page. Absent in a page that was not built. */
  readonly own: string | undefined;
  /** Survives the reload, but not the tab. */
  readonly storage: Pick<Storage, "getItem" | "setItem">;
  readonly reload: () => void;
}

/** A header of every response. */
const HEADER = "jp-build";
const STORED = "jp-desk-builds";

/**
 * Wraps `fetch` to reload the page once if a response comes from another build: not while an answer is being sent, and
 * never twice for the same build. Several desks behind one address may have different builds, and a proxy may cache an
 * old page.
 */
export function watchBuild(send: typeof fetch, options: BuildOptions): typeof fetch {
  let isOutdated = false;
  let sending = 0;
  return async (input, init) => {
    const isChange = (init?.method ?? "GET") !== "GET";
    if (isChange) sending += 1;
    try {
      const response = await send(input, init);
      const build = response.headers.get(HEADER);
      if (build !== null && isOther(build, options)) isOutdated = true;
      return response;
    } finally {
      if (isChange) sending -= 1;
      if (isOutdated && sending === 0) {
        isOutdated = false;
        options.reload();
      }
    }
  };
}

/** Remembers the build, so that it returns true only once for it. */
function isOther(build: string, { own, storage }: BuildOptions): boolean {
  if (own === undefined || build === own) return false;
  try {
    const seen = (storage.getItem(STORED) ?? "").split(" ");
    if (seen.includes(build)) return false;
    storage.setItem(STORED, [...seen, build].join(" ").trim());
    return true;
  } catch {
    return false; // Without storage, the page could reload forever.
  }
}
