/** A turn whose conversation is in a database goes on on another machine, where the workspace is in another folder. */
import { generateKeyPairSync } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { copyStore } from "../../src/stores/index.ts";
import { publicKeyText } from "../../src/stores/postgres/turn-keys.ts";
import {
  temporaryFolder,
  type TemporaryWorkspace,
  temporaryWorkspace,
} from "../../src/stores/temporary-workspace.fixture.ts";
import type { JsonObject } from "../../src/util/index.ts";
import { counters } from "../security/threats.ts";
import { migratedDatabase } from "../support/postgres.ts";
import { Scene } from "./void-scene.ts";
import { openConfigured } from "./void-worlds.ts";

const SCRIPT = "cat >/dev/null\necho deployed >>effects\necho deployed\n";

/** A machine: its checkout, and a shell of its own. */
interface Checkout {
  readonly workspace: TemporaryWorkspace;
  readonly root: string;
  readonly bin: string;
}

/** Two of them, which accept each other's turns. Only the folders differ. */
async function checkouts(): Promise<readonly [Checkout, Checkout]> {
  const url = await migratedDatabase();
  const tenant = crypto.randomUUID();
  const pairs = [1, 2].map(() => generateKeyPairSync("ed25519"));
  const accepted = pairs.map(({ publicKey }) => publicKeyText(publicKey));
  const storeId = crypto.randomUUID().replaceAll("-", "");
  const [one, two] = pairs.map(({ privateKey }) => {
    const keys = async () => ({ privateKey, accepted });
    const workspace = temporaryWorkspace({ database: { url, tenant, keys } });
    writeFileSync(path.join(workspace.root, ".jp", ".store-id"), `${storeId}\n`);
    return checkout(workspace);
  });
  if (one === undefined || two === undefined) throw new Error("none");
  return [one, two];
}

function checkout(workspace: TemporaryWorkspace): Checkout {
  const { root } = workspace;
  const bin = temporaryFolder();
  const shell = realpathSync("/bin/sh");
  copyFileSync(shell, path.join(bin, path.basename(shell)));
  if (path.basename(shell) !== "sh") symlinkSync(path.basename(shell), path.join(bin, "sh"));
  for (const folder of ["src", "tools"]) mkdirSync(path.join(root, folder));
  writeFileSync(path.join(root, "tools", "deploy.sh"), SCRIPT);
  writeFileSync(path.join(root, "src", "a.ts"), "one\n");
  return { workspace, root, bin };
}

const DEPLOY = { name: "deploy", arguments: { mode: "all" } };
const MODIFY = {
  name: "fs_modify_file",
  arguments: { path: "src/a.ts", patterns: [{ old: "one", new: "two" }] },
};
const CREATE = { name: "fs_create_file", arguments: { path: "src/b.ts", content: "new\n" } };

const COMMAND = { program: "sh", args: ["tools/deploy.sh"], shell: false };
const TOOLS = {
  deploy: {
    source: "local",
    run: "ask",
    command: COMMAND,
    parameters: { mode: { type: "string" } },
  },
  fs_modify_file: { enable: true },
  fs_create_file: { enable: true },
};

/** A turn that calls the tool in the first checkout. */
function sceneIn(
  first: Checkout,
  call: { readonly name: string; readonly arguments: JsonObject },
): { readonly scene: Scene; readonly moveTo: (other: Checkout) => void } {
  let now = first;
  const scene = new Scene(first.workspace, {
    call,
    open: (conversation) => {
      const { root, bin } = now;
      const variables = { ...process.env, PATH: [bin, process.env["PATH"]].join(path.delimiter) };
      return openConfigured({ root }, { conversation: { tools: TOOLS } }, variables)(conversation);
    },
  });
  const moveTo = (other: Checkout) => {
    now = other;
    scene.workspace = other.workspace;
  };
  return { scene, moveTo };
}

async function approve(scene: Scene): Promise<string> {
  const item = await scene.pending();
  if (item === undefined) throw new Error("Nothing waits.");
  return scene.approve(item);
}

const read = ({ root }: Checkout, file: string) => {
  const name = path.join(root, file);
  return existsSync(name) ? readFileSync(name, "utf8") : undefined;
};

test.each([
  ["a permission", DEPLOY, "effects", undefined, "deployed\n"],
  ["a change of a file", MODIFY, "src/a.ts", "one\n", "two\n"],
  ["a new file", CREATE, "src/b.ts", undefined, "new\n"],
] as const)(
  "what was asked in one checkout is answered and goes on in another: %s",
  async (_, call, file, before, after) => {
    const [one, two] = await checkouts();
    const { scene, moveTo } = sceneIn(one, call);
    expect(await scene.proceed()).toBe("waiting");
    moveTo(two);
    expect(await approve(scene)).toBe("recorded");
    expect([await scene.proceed(), await scene.voids()]).toEqual(["done", []]);
    expect([read(one, file), read(two, file)]).toEqual([before, after]);
  },
);

test("an answer from another checkout reaches the process that waits for it", async () => {
  const [one, two] = await checkouts();
  const { scene, moveTo } = sceneIn(one, DEPLOY);
  await scene.proceed();
  const item = await scene.pending();
  if (item === undefined) throw new Error("Nothing waits.");
  const { conversations } = one.workspace;
  onTestFinished(() => conversations.close?.());
  await using waiting = await conversations.open(item.conversation);
  waiting.onAnswer(async ({ event }) => {
    await waiting.append(event);
    return { type: "recorded" };
  });
  moveTo(two);
  expect(await scene.approve(item)).toBe("recorded");
});

test.each<[string, (two: Checkout) => void, readonly string[]]>([
  [
    "its script has other content",
    ({ root }) => writeFileSync(path.join(root, "tools", "deploy.sh"), `${SCRIPT}# more\n`),
    ["file"],
  ],
  [
    "its script is outside of the workspace, behind a link",
    ({ root, bin }) => {
      const file = path.join(root, "tools", "deploy.sh");
      copyFileSync(file, path.join(bin, "deploy.sh"));
      rmSync(file);
      symlinkSync(path.join(bin, "deploy.sh"), file);
    },
    ["file"],
  ],
  [
    "its program is another one",
    ({ bin }) => {
      rmSync(path.join(bin, "sh"));
      writeFileSync(path.join(bin, "sh"), '#!/bin/sh\nexec /bin/sh "$@"\n', { mode: 0o755 });
    },
    ["program"],
  ],
])(
  "a yes is void in another checkout where the call would do something else: %s",
  async (_, change, changed) => {
    counters("T-PROG-3");
    const [one, two] = await checkouts();
    const { scene, moveTo } = sceneIn(one, DEPLOY);
    await scene.proceed();
    expect(await approve(scene)).toBe("recorded");
    change(two);
    moveTo(two);
    expect([await scene.proceed(), await scene.voids()]).toEqual(["waiting", [changed]]);
    expect([read(one, "effects"), read(two, "effects")]).toEqual([undefined, undefined]);
  },
);

test("a yes to a change of a file does not reach another file through a link in another checkout", async () => {
  counters("T-FILE-7");
  const [one, two] = await checkouts();
  const { scene, moveTo } = sceneIn(one, MODIFY);
  await scene.proceed();
  await approve(scene);
  const outside = temporaryFolder();
  writeFileSync(path.join(outside, "a.ts"), "one\n");
  rmSync(path.join(two.root, "src"), { recursive: true });
  symlinkSync(outside, path.join(two.root, "src"));
  moveTo(two);
  expect(await scene.proceed()).toBe("done");
  expect(readFileSync(path.join(outside, "a.ts"), "utf8")).toBe("one\n");
  const response = (await scene.events()).find(({ type }) => type === "tool_call_response");
  expect(response).toMatchObject({
    isError: true,
    content: expect.stringContaining("leads outside the workspace"),
  });
});

test.each([
  ["a permission, to a database", DEPLOY, ["version"], true],
  ["a permission, to files", DEPLOY, ["version"], false],
  ["a change of a file, to a database", MODIFY, ["binding"], true],
  ["a change of a file, to files", MODIFY, ["binding"], false],
] as const)(
  "a yes is asked for once more after it was copied to another kind of store: %s",
  async (_, call, changed, isToDatabase) => {
    const files = checkout(temporaryWorkspace());
    const [database] = await checkouts();
    const [from, to] = isToDatabase ? [files, database] : [database, files];
    const { scene, moveTo } = sceneIn(from, call);
    await scene.proceed();
    await approve(scene);
    const { copied } = await copyStore(
      await from.workspace.openPortable(),
      await to.workspace.openPortable(),
    );
    expect(copied).toBe(1);
    moveTo(to);
    expect([await scene.proceed(), await scene.voids()]).toEqual(["waiting", [changed]]);
    await approve(scene);
    expect([await scene.proceed(), await scene.voids()]).toEqual(["done", [changed]]);
  },
);
