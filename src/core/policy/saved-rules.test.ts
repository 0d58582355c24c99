import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { FakeClock } from "../../testing/index.ts";
import { type Timestamp, timestampFromDate } from "../../record/conversation/index.ts";
import { counters } from "../../../test/security/threats.ts";
import { capabilitiesOf, type Confinement, type ToolSource } from "../../record/tool/index.ts";
import type { Json, JsonObject } from "../../util/index.ts";
import { callOf, localSource, type ToolOptions } from "./call-of-tool.fixture.ts";
import { createPolicy, listAllSavedRules, openSavedRules } from "./policy.ts";
import { SavedRules } from "./saved-rules.ts";
import type { CallOfTool, GrantToSave, Policy } from "./verdict.ts";

const RULE = { mode: "unattended", arg: "/path", prefix: "src" } as const;
const EDIT: ToolOptions = { effect: "edits", argumentKinds: { "/path": "path" } };
const CALL = callOf({ path: "src/a.ts" }, EDIT);
const BY = { kind: "user", channel: "terminal", auth: "os_user", name: "Ada" } as const;
const DAY = 24 * 60 * 60 * 1000;

function run(command: string, { undo, ...source }: Partial<ToolSource & Confinement>): CallOfTool {
  return callOf(
    { command },
    {
      name: "shell_run",
      argumentKinds: { "/command": "command" },
      source: {
        ...source,
        origin: { type: "builtin", confinement: "sandbox", ...(undo && { undo }) },
      },
    },
  );
}

class Place {
  readonly data = temporaryFolder();
  readonly root = temporaryFolder();
  readonly clock = new FakeClock();
  readonly warnings: string[] = [];
  readonly folder = path.join(this.data, "permissions");

  open(root = this.root): SavedRules {
    const onWarning = (message: string) => void this.warnings.push(message);
    return new SavedRules({ folder: this.folder, root, clock: this.clock, onWarning });
  }

  policy(root = this.root): Policy {
    const onWarning = (message: string) => void this.warnings.push(message);
    const { options } = openSavedRules({
      dataFolder: this.data,
      root,
      clock: this.clock,
      onWarning,
    });
    return createPolicy({ root, ...options });
  }

  grant(fields: Partial<GrantToSave> = {}): GrantToSave {
    const grant = { rule: RULE, until: "always", call: CALL, shown: { folder: "." } } as const;
    return { ...grant, by: BY, inquiry: "jp-c1/a:run:1", ...fields };
  }

  in(milliseconds: number): Timestamp {
    return timestampFromDate(new Date(this.clock.now().getTime() + milliseconds));
  }

  get file(): string {
    const name = readdirSync(this.folder).find((each) => each.endsWith(".json"));
    return path.join(this.folder, name ?? "");
  }
}

async function decides(policy: Policy, call: CallOfTool): Promise<string> {
  const { mode, rules = [] } = await policy.verdictOf(call);
  return [mode, ...rules.map(({ from }) => from)].join(" ");
}

const deploy = (program: string) =>
  callOf({ to: "test" }, { name: "deploy", source: localSource(program) });
const withRule = (mode: string) =>
  callOf({ path: "src/a.ts" }, { ...EDIT, config: { policy: { run: [{ mode }] } } });

describe("a saved rule", () => {
  test("decides from then on, also in another process, and says who saved it", async () => {
    const place = new Place();
    expect(await decides(place.policy(), CALL)).toBe("ask");
    await place.open().save(place.grant());
    expect(await decides(place.policy(), CALL)).toBe("unattended saved");
    expect(await place.policy().verdictOf(CALL)).toMatchObject({
      rules: [{ file: createHash("sha256").update(readFileSync(place.file)).digest("hex") }],
    });
    const { workspace, rules } = place.open().list();
    expect({ workspace, rules }).toEqual({
      workspace: place.root,
      rules: [
        {
          id: expect.stringMatching(/^[0-9a-f]{8}$/) as string,
          tool: "fs_modify_file",
          rule: RULE,
          kind: "path",
          limits: { folder: "." },
          source: expect.any(String) as string,
          created: place.in(0),
          until: "always",
          by: "Ada",
          inquiry: "jp-c1/a:run:1",
          scope: { code: "folder", parts: ["src"], limits: { folder: "." } },
          isExpired: false,
        },
      ],
    });
    expect(statSync(place.file).mode & 0o777).toBe(0o600);
    expect(statSync(place.folder).mode & 0o777).toBe(0o700);
  });

  test("covers only what it says", async () => {
    const place = new Place();
    await place.open().save(place.grant());
    const outside = callOf({ path: "srcs/a.ts" }, EDIT);
    expect(await decides(place.policy(), outside)).toBe("ask");
  });

  test("never covers another tool, even one of the same kind", async () => {
    counters("T-SAVED-3");
    const place = new Place();
    await place.open().save(place.grant({ rule: { mode: "unattended" } }));
    expect(await decides(place.policy(), callOf({ path: "src/a.ts" }, EDIT))).toBe(
      "unattended saved",
    );
    const other = callOf({ path: "src/a.ts" }, { ...EDIT, name: "fs_create_file" });
    expect(await decides(place.policy(), other)).toBe("ask");
    // The same name, but another tool behind it.
    const renamed = { origin: { type: "builtin" }, identity: "shell_run" } as const;
    expect(
      await decides(place.policy(), callOf({ path: "src/a.ts" }, { ...EDIT, source: renamed })),
    ).toBe("ask");
  });

  test("for commands counts for another one, which runs other programs and may be undone or not", async () => {
    const place = new Place();
    const first = run("git status", { undo: "git", program: ["git"], confined: { readable: [] } });
    const rule = { mode: "unattended", arg: "/command", prefix: "git" };
    const shown = await shownOf(first);
    await place.open().save(place.grant({ rule, call: first, shown }));
    const second = run("git log", { undo: "too_large", program: ["git", "less"], file: ["log"] });
    expect(await decides(place.policy(), second)).toBe("unattended saved");
  });

  test("no longer counts once the program of its local tool has changed", async () => {
    counters("T-SAVED-3");
    const place = new Place();
    const rule = { mode: "unattended", arg: "", const: { to: "test" } };
    await place.open().save(place.grant({ rule, call: deploy("one") }));
    expect(await decides(place.policy(), deploy("one"))).toBe("unattended saved");
    expect(await decides(place.policy(), deploy("two"))).toBe("ask");
  });

  test("does not count once it has expired, nor for a tool that turns out to destroy", async () => {
    const place = new Place();
    const policy = place.policy();
    await place.open().save(place.grant({ until: place.in(DAY) }));
    expect(await decides(policy, CALL)).toBe("unattended saved");
    expect(
      await decides(policy, callOf({ path: "src/a.ts" }, { ...EDIT, effect: "destroys" })),
    ).toBe("ask");
    place.clock.advance(DAY - 1);
    expect(await decides(policy, CALL)).toBe("unattended saved");
    place.clock.advance(1);
    expect(await decides(policy, CALL)).toBe("ask");
    expect(place.open().list().rules).toMatchObject([{ isExpired: true }]);
  });

  test("comes before the rules of the config, but not before those that skip", async () => {
    const place = new Place();
    await place.open().save(place.grant());
    expect(await decides(place.policy(), withRule("ask"))).toBe("unattended saved");
    expect(await decides(place.policy(), withRule("skip"))).toBe("skip program");
  });

  test("counts no more once it is removed, and a turn that is continued does not bring it back", async () => {
    const place = new Place();
    const policy = place.policy();
    await place.open().save(place.grant());
    await place.open().save(place.grant());
    const { rules } = place.open().list();
    expect(rules).toHaveLength(1);
    expect(await place.open().remove(({ id }) => id === rules[0]?.id)).toHaveLength(1);
    expect(await decides(policy, CALL)).toBe("ask");
    await place.open().save(place.grant());
    expect(await decides(policy, CALL)).toBe("ask");
  });

  test("is kept, and does not count, if a newer version has added something to it", async () => {
    const place = new Place();
    await place.open().save(place.grant());
    const stored = JSON.parse(readFileSync(place.file, "utf8")) as { rules: object[] };
    const newer = { ...stored, rules: [{ ...stored.rules[0], only: "fridays" }, 7] };
    writeFileSync(place.file, JSON.stringify(newer), { mode: 0o600 });
    expect(await decides(place.policy(), CALL)).toBe("ask");
    await place.open().save(place.grant({ inquiry: "jp-c1/b:run:1" }));
    const after = JSON.parse(readFileSync(place.file, "utf8")) as { rules: object[] };
    expect(after.rules.slice(0, 2)).toEqual(newer.rules);
  });
});

const withSource = (source: Partial<ToolSource>) =>
  callOf({ to: "test" }, { name: "deploy", source: { ...localSource(), ...source } });

test("a rule that was saved before `#!` lines and long files counted applies unless such a file is named", async () => {
  const place = new Place();
  const [program, shell] = [{ path: "/deploy" }, { path: "/bin/sh" }];
  const before = withSource({ program });
  await place.open().save(place.grant({ rule: { mode: "unattended" }, call: before }));
  const now = { program: [program, shell] };
  const other = { program: [{ path: "/other" }, shell], earlier: { program: { path: "/other" } } };
  expect([
    await decides(place.policy(), withSource({ ...now, earlier: { program } })),
    await decides(place.policy(), withSource({ ...now, earlier: "incomparable" })),
    await decides(place.policy(), withSource(other)),
  ]).toEqual(["unattended saved", "ask", "ask"]);
});

const DIFFS = { mode: "unattended", arg: "/command", prefix: "git diff" } as const;
const SANDBOXED: ToolSource = { origin: { type: "builtin", confinement: "sandbox" } };
const ONLINE: ToolSource = { origin: { type: "builtin", confinement: "sandbox", network: true } };

async function shownOf({ tool, arguments: args }: CallOfTool) {
  return capabilitiesOf(await tool.describeSource(args));
}

/** A command in `src`, in the sandbox, unless said otherwise. */
function diff(rest = "", source: Partial<ToolSource> = {}, args: JsonObject = {}): CallOfTool {
  return callOf(
    { command: `git diff${rest}`, ...args },
    {
      name: "shell_run",
      argumentKinds: { "/command": "command" },
      source: { ...SANDBOXED, folder: "src", ...source },
    },
  );
}

async function placeWith(call: CallOfTool, rule: JsonObject = DIFFS): Promise<Place> {
  const place = new Place();
  await place.open().save(place.grant({ rule, call, shown: await shownOf(call) }));
  return place;
}

test("a saved rule in the user's own words covers no more than was shown, however broad it is", async () => {
  counters("T-SAVED-6");
  const options = { name: "convert", argumentKinds: { "/path": "path" } } as const;
  const convert = (outside: readonly string[]) =>
    callOf({ path: "a" }, { ...options, source: { ...localSource(), outside } });
  const place = await placeWith(convert([]), { mode: "unattended" });
  expect([
    await decides(place.policy(), convert([])),
    await decides(place.policy(), convert(["/etc/hosts"])),
  ]).toEqual(["unattended saved", "ask"]);
});

describe("a rule that is saved for a command", () => {
  test.each<[string, Partial<ToolSource>, "ask" | "unattended saved"]>([
    ["the same folder", {}, "unattended saved"],
    ["a folder below", { folder: "src/agent" }, "unattended saved"],
    ["the folder above", { folder: "." }, "ask"],
    ["a folder beside it", { folder: "test" }, "ask"],
    ["a folder whose name begins the same", { folder: "srcs" }, "ask"],
    ["a network", ONLINE, "ask"],
    ["no sandbox", { origin: { type: "builtin", confinement: "none" } }, "ask"],
    ["a file outside the workspace", { outside: ["/etc/hosts"] }, "ask"],
  ])("counts in the folder that was shown and with no more than was shown: %s", async (...each) => {
    counters("T-SAVED-6");
    const [, source, expected] = each;
    const place = await placeWith(diff());
    expect(await decides(place.policy(), diff("", source))).toBe(expected);
  });

  test.each([
    " src/a.ts",
    " HEAD~1 HEAD",
    " --stat src/b.ts",
    " src/b.ts --stat",
    " -- src/a.ts",
    " --stat -- src/a.ts",
    " -",
    " '--stat'",
  ])(
    "counts for further words and the options that were shown, if it is for the first words: git diff%s",
    async (rest) => {
      const place = await placeWith(diff(" --stat src"));
      expect(await decides(place.policy(), diff(rest))).toBe("unattended saved");
    },
  );

  test.each([
    " --output=FILE",
    " --output FILE",
    " --out=FILE",
    " -o FILE",
    " -oFILE",
    " --stat=200",
    " --stat --output=FILE",
    " --stat-width=1",
    " --Stat",
    " src --output=FILE",
    " -- --output=FILE",
    " -- src -x",
    " '--output=FILE'",
    ' "--output=FILE"',
    String.raw` \--output=FILE`,
    " -''-output=FILE",
    " --out'put=FILE'",
    " --stat; git diff --output=FILE",
    " | git diff --output=FILE",
  ])(
    "does not count for an option that was not shown, if it is for the first words: git diff%s",
    async (rest) => {
      counters("T-SAVED-6");
      const place = await placeWith(diff(" --stat src"));
      expect(await decides(place.policy(), diff(rest))).toBe("ask");
    },
  );

  test("does not count for an option before -- that was shown after it, nor the other way round", async () => {
    counters("T-SAVED-6");
    const place = await placeWith(diff(" --a -- --b"));
    const lines = [" --a", " -- --b", " --a x -- y --b", " --b", " -- --a"];
    const found = await Promise.all(lines.map((rest) => decides(place.policy(), diff(rest))));
    const allowed = "unattended saved";
    expect(found).toEqual([allowed, allowed, allowed, "ask", "ask"]);
  });

  test("counts for every option that it matches, if it is a pattern", async () => {
    const place = await placeWith(diff(), {
      mode: "unattended",
      arg: "/command",
      pattern: "^git diff",
    });
    expect(await decides(place.policy(), diff(" --output=FILE"))).toBe("unattended saved");
  });
});

/** As it was written before rules named a folder. */
async function older(): Promise<Place> {
  const place = new Place();
  await place.open().save(place.grant({ rule: DIFFS, call: diff() }));
  const stored = JSON.parse(readFileSync(place.file, "utf8")) as { rules: JsonObject[] };
  const rules = stored.rules.map(({ limits: _limits, ...rule }) => rule);
  writeFileSync(place.file, JSON.stringify({ ...stored, rules }), { mode: 0o600 });
  return place;
}

describe("a rule that an older version has saved", () => {
  test("counts in any folder and with any options, and still not with a network", async () => {
    const place = await older();
    const calls = [diff("", { folder: "test" }), diff(" --output=FILE"), diff("", ONLINE)];
    expect(await Promise.all(calls.map((call) => decides(place.policy(), call)))).toEqual([
      "unattended saved",
      "unattended saved",
      "ask",
    ]);
    const [rule] = place.open().list().rules;
    expect([rule?.limits, rule?.scope]).toEqual([
      undefined,
      { code: "command_prefix", parts: ["git diff"] },
    ]);
  });

  test("is written again as it was when another one is added", async () => {
    const place = await older();
    const shown = await shownOf(diff());
    const inquiry = "jp-c2/a:run:1";
    await place.open().save(place.grant({ rule: DIFFS, call: diff(), shown, inquiry }));
    const limits = place
      .open()
      .list()
      .rules.map((rule) => rule.limits);
    expect(limits).toEqual([undefined, { confinement: "sandbox", folder: "src", options: [] }]);
  });
});

test.each<[string, Json]>([
  ["not an object", "src"],
  ["without a folder", { confinement: "sandbox" }],
  ["with something new", { folder: ".", hosts: ["example.com"] }],
  ["with another confinement", { folder: ".", confinement: "vm" }],
  ["with options that are not texts", { folder: ".", options: [1] }],
])("a saved rule with limits that jp does not know does not count: %s", async (_, limits) => {
  const place = new Place();
  await place.open().save(place.grant());
  const stored = JSON.parse(readFileSync(place.file, "utf8")) as { rules: JsonObject[] };
  const rules = stored.rules.map((rule) => ({ ...rule, limits }));
  writeFileSync(place.file, JSON.stringify({ ...stored, rules }), { mode: 0o600 });
  expect(await decides(place.policy(), CALL)).toBe("ask");
});

describe("the file of saved rules", () => {
  test("belongs to the path of the workspace: a clone elsewhere has none of them", async () => {
    counters("T-SAVED-4");
    const place = new Place();
    await place.open().save(place.grant());
    const clone = temporaryFolder();
    cpSync(place.root, clone, { recursive: true });
    expect(await decides(place.policy(clone), CALL)).toBe("ask");
    // Under the name that the clone's file would have.
    const stolen = place.open(clone);
    await stolen.save(place.grant({ inquiry: "jp-c2/a:run:1" }));
    const [mine = "", theirs = ""] = readdirSync(place.folder)
      .filter((name) => name.endsWith(".json"))
      .toSorted((left) => (path.join(place.folder, left) === place.file ? -1 : 1));
    cpSync(path.join(place.folder, mine), path.join(place.folder, theirs));
    const roots = [place.root, clone];
    const found = await Promise.all(roots.map((root) => decides(place.policy(root), CALL)));
    expect(found.toSorted()).toEqual(["ask", "unattended saved"]);
    expect(place.warnings.join()).toContain("of another workspace");
  });

  test("is found through a link to the workspace", async () => {
    const place = new Place();
    await place.open().save(place.grant());
    const link = path.join(temporaryFolder(), "link");
    symlinkSync(place.root, link);
    expect(await decides(place.policy(link), CALL)).toBe("unattended saved");
  });

  test("has nothing to do with files of the workspace, whatever these are called", async () => {
    counters("T-SAVED-4");
    const place = new Place();
    await place.open().save(place.grant());
    const content = readFileSync(place.file);
    const elsewhere = new Place();
    for (const folder of [".jp", "permissions", path.join(".jp", "permissions")]) {
      mkdirSync(path.join(elsewhere.root, folder), { recursive: true });
      writeFileSync(path.join(elsewhere.root, folder, path.basename(place.file)), content, {
        mode: 0o600,
      });
    }
    expect(await decides(elsewhere.policy(), CALL)).toBe("ask");
  });

  test.each([
    ["the group may write it", 0o660],
    ["others may read it", 0o604],
  ])(
    "is not used, and a warning says so, if others could have written or read it: %s",
    async (_, mode) => {
      counters("T-SAVED-4");
      const place = new Place();
      await place.open().save(place.grant());
      chmodSync(place.file, mode);
      const policy = place.policy();
      expect([await decides(policy, CALL), await decides(policy, CALL)]).toEqual(["ask", "ask"]);
      expect(place.warnings).toEqual([expect.stringContaining("other users may read or write it")]);
      await expect(
        place.open().save(place.grant({ inquiry: "jp-c9/a:run:1" })),
      ).rejects.toMatchObject({
        code: "write_failed",
      });
    },
  );

  test("is not used if it is a link, or damaged, and is not overwritten then", async () => {
    counters("T-SAVED-4");
    const place = new Place();
    await place.open().save(place.grant());
    writeFileSync(place.file, "{");
    expect(await decides(place.policy(), CALL)).toBe("ask");
    await expect(
      place.open().save(place.grant({ inquiry: "jp-c9/a:run:1" })),
    ).rejects.toMatchObject({ code: "write_failed" });
    expect(readFileSync(place.file, "utf8")).toBe("{");
  });

  test("loses nothing if two processes save at the same time", async () => {
    const place = new Place();
    const stores = Array.from({ length: 8 }, () => place.open());
    await Promise.all(
      stores.map((store, index) => store.save(place.grant({ inquiry: `jp-c1/${index}:run:1` }))),
    );
    expect(place.open().list().rules).toHaveLength(8);
  });

  test("says when a rule was last used, and is written for that once a day at most", async () => {
    const place = new Place();
    const store = place.open();
    await store.save(place.grant());
    const [rule] = await store.find(CALL);
    const used = [{ from: "saved", key: rule?.place.key ?? "", rule: {} }];
    const note = async () => {
      store.noteUsed([...used, { from: "user", key: "x", rule: {} }]);
      await store.close();
      return {
        lastUsed: store.list().rules[0]?.lastUsed,
        written: statSync(place.file, { bigint: true }).ctimeNs,
      };
    };
    const first = await note();
    place.clock.advance(DAY - 1);
    const second = await note();
    place.clock.advance(1);
    const third = await note();
    expect([second, third.lastUsed]).toEqual([first, place.in(0)]);
  });

  test("does not exist, and is not looked for, until something is saved", async () => {
    const place = new Place();
    const { options } = openSavedRules({
      dataFolder: place.data,
      root: place.root,
      clock: place.clock,
      onWarning: () => undefined,
    });
    expect([options.hasSaved?.(), readdirSync(place.data)]).toEqual([false, []]);
    await options.store?.save(place.grant());
    expect(options.hasSaved?.()).toBe(true);
  });

  test("is one of each workspace, and all of them can be listed", async () => {
    const [place, other] = [new Place(), temporaryFolder()];
    await place.open().save(place.grant());
    await place.open(other).save(place.grant({ inquiry: "jp-c2/a:run:1" }));
    writeFileSync(path.join(place.folder, "copy.json"), readFileSync(place.file), { mode: 0o600 });
    const all = await listAllSavedRules({
      dataFolder: place.data,
      clock: place.clock,
      onWarning: () => undefined,
    });
    expect(all.map(({ workspace }) => workspace).toSorted()).toEqual(
      [place.root, other].toSorted(),
    );
  });
});

describe("proposed rules that are taken over", () => {
  const ASKING = { mode: "ask", arg: "/path", glob: "**/.env*" } as const;

  test("are saved once, those that ask before those that let calls run, also before later ones", async () => {
    const place = new Place();
    const rules = [ASKING, RULE].map((rule) => ({ rule, call: CALL }));
    const saved = place.open();
    const counts = [await saved.adopt(rules), await saved.adopt(rules)];
    const wider = { mode: "unattended", arg: "/path", prefix: "." } as const;
    counts.push(await saved.adopt([{ rule: wider, call: CALL }]));
    const env = callOf({ path: "src/.env" }, EDIT);
    const policy = place.policy();
    expect([
      counts,
      (await policy.verdictOf(CALL)).mode,
      (await policy.verdictOf(env)).mode,
    ]).toEqual([[2, 0, 1], "unattended", "ask"]);
  });

  test("come after what is granted at a prompt later, and can be removed and taken over again", async () => {
    const place = new Place();
    const saved = place.open();
    await saved.adopt([{ rule: ASKING, call: CALL }]);
    const env = callOf({ path: "src/.env" }, EDIT);
    await saved.save(
      place.grant({ rule: { mode: "unattended", arg: "/path", const: "src/.env" } }),
    );
    expect((await place.policy().verdictOf(env)).mode).toBe("unattended");
    await saved.remove(({ rule }) => rule.mode === "ask");
    expect(await saved.adopt([{ rule: ASKING, call: CALL }])).toBe(1);
  });
});
