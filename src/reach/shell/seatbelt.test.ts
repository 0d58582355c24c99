import { expect, test } from "vitest";
import type { ProtectedPaths } from "./protected-paths.ts";
import { seatbeltProfile } from "./seatbelt.ts";

const PLACE = {
  root: "/Users/me/project",
  home: "/Users/me",
  hidden: ["/data"],
  readable: [],
  variables: {},
};
const NO_PATHS: ProtectedPaths = { mounts: [], readable: [], folders: [], release: () => [] };

function profile(
  paths: Partial<ProtectedPaths>,
  network = false,
  place = PLACE,
): readonly string[] {
  return seatbeltProfile(place, { paths: { ...NO_PATHS, ...paths }, network }).split("\n");
}

test("on macOS, a command with a network reaches no socket with a path but that of the names' service", () => {
  const rules = profile({}, true);
  const denied = rules.indexOf("(deny network-outbound (remote unix-socket))");
  const allowed = rules.indexOf(
    '(allow network-outbound (literal "/private/var/run/mDNSResponder"))',
  );
  expect([denied > 0, allowed > denied, rules.includes("(deny network*)")]).toEqual([
    true,
    true,
    false,
  ]);
});

test("on macOS, a command without a network reaches no socket at all", () => {
  const rules = profile({});
  expect([rules.includes("(deny network*)"), rules.join().includes("allow network")]).toEqual([
    true,
    false,
  ]);
});

test("on macOS, what is protected in the workspace cannot be written, nor its parents moved", () => {
  const modules = `${PLACE.root}/node_modules`;
  const rules = profile({
    mounts: [
      { file: modules, access: "pinned" },
      { file: `${modules}/jp-ts`, access: "read_only" },
      { file: `${modules}/jp-ts/x`, access: "writable" },
    ],
  });
  const workspace = rules.findIndex((rule) => rule.startsWith("(allow file-read* file-write*"));
  const last = rules.slice(workspace + 1).join("\n");
  expect(last).toContain(`(deny file-write-unlink (literal "${modules}"))`);
  const denied = last.indexOf(`(deny file-write* (subpath "${modules}/jp-ts")`);
  const allowed = last.indexOf(`(allow file-write* (subpath "${modules}/jp-ts/x"))`);
  expect([denied > 0, allowed > denied]).toEqual([true, true]);
});

test("on macOS, jp's folders stay hidden in the workspace", () => {
  const data = `${PLACE.root}/data`;
  const rules = profile({}, false, { ...PLACE, hidden: ["/data", data] });
  const workspace = rules.findIndex((rule) => rule.startsWith("(allow file-read* file-write*"));
  expect(rules[workspace + 1]).toBe(`(deny file-read* file-write* (subpath "${data}"))`);
});

test("on macOS, a command while planning writes nowhere in the workspace", () => {
  const [rules, planned] = [false, true].map((isReadOnly) =>
    seatbeltProfile(PLACE, { paths: NO_PATHS, network: false, isReadOnly }),
  );
  expect(rules).toContain('(allow file-read* file-write* (subpath "/Users/me/project"))');
  expect(planned).toContain('(allow file-read* (subpath "/Users/me/project"))');
  expect(planned).not.toMatch(/allow file-[^\n]*write[^\n]*project/);
});
