/**
 * Reloads a page of another build than the server's, so that an upgraded desk and an open page understand each other. What was
 * typed is in the browser's storage, and survives it.
 */

/** What a page needs to know about itself. */
export interface BuildOptions {
  /** The build of the page. Absent in a page that was not built. */
  readonly own: string | undefined;
  /** Outlives the reload, but not the tab. */
  readonly storage: Pick<Storage, "getItem" | "setItem">;
  readonly reload: () => void;
}

/** The header of every response. */
const HEADER = "jp-build";
const STORED = "jp-desk-builds";

/**
 * The same `fetch`, which reloads the page once if a response is from another build: not while an answer is being sent, and
 * never twice for the same build. Several desks behind one address may be of different builds, and a proxy may keep an old page.
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

/** Remembers it, so that it is true only once. */
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
