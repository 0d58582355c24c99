/** The compose file of `examples/fleet`, without an engine to run it: it is YAML, and says nothing that jp does not know. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { load, YAML11_SCHEMA } from "js-yaml";
import { describe, expect, test } from "vitest";
import { DEFAULTS } from "../src/settings/config/defaults.ts";
import { findMistake } from "./support/command-lines.ts";
import { ROOT } from "./support/documents.ts";

interface Service {
  readonly image: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly deploy?: { readonly replicas: number };
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const read = (...names: readonly string[]) => readFileSync(path.join(ROOT, ...names), "utf8");
const text = read("examples", "fleet", "compose.yaml");
const dockerfile = read("examples", "fleet", "Dockerfile");
// Checked by the tests below. Compose merges keys, as YAML 1.1 does.
const { services, secrets, volumes } = load(text, { schema: YAML11_SCHEMA }) as Compose;
const ofJp = Object.values(services).filter(({ build }) => build !== undefined);

/** Of a flag of the workers. */
function valueOf(flag: string): number {
  const { command = [] } = services["worker"] ?? {};
  return Number(command[command.indexOf(flag) + 1]);
}

describe("the compose file of the examples", () => {
  test("starts a database, makes its tables, and starts two workers and a desk", () => {
    expect(Object.keys(services)).toEqual(["db", "migrate", "worker", "desk"]);
    expect(services["worker"]?.deploy?.replicas).toBe(2);
    const conditions = ["migrate", "worker", "desk"].map((name) => services[name]?.depends_on);
    const afterTables = { migrate: { condition: "service_completed_successfully" } };
    const afterStart = { db: { condition: "service_healthy" } };
    expect(conditions).toEqual([afterStart, afterTables, afterTables]);
  });

  test("uses existing commands and flags", async () => {
    const written = [...text.matchAll(/entrypoint\.sh ([\w ]+)$/gm)].map(([, words = ""]) => words);
    const commands = [
      ...ofJp.map(({ command = [] }) => command),
      ...written.map((line) => line.split(" ")),
    ];
    expect(await Promise.all(commands.map((words) => findMistake(["jp", ...words])))).toEqual(
      commands.map(() => undefined),
    );
    expect(commands).toHaveLength(4);
  });

  test("sets only variables that jp reads", () => {
    const providers = Object.values(DEFAULTS.providers?.llm ?? {});
    const keys = new Set(
      providers.map((one) => one !== undefined && "api_key_env" in one && one.api_key_env),
    );
    const sources = globSync("src/**/*.ts", { cwd: ROOT }).filter(
      (name) => !name.includes(".test."),
    );
    const code = sources.map((name) => read(name)).join("\n");
    const inImage = [...dockerfile.matchAll(/^ENV (\w+)=/gm)].map(([, name = ""]) => name);
    const set = [...inImage, ...ofJp.flatMap(({ environment = {} }) => Object.keys(environment))];
    const unread = set.filter((name) => !keys.has(name) && !code.includes(`["${name}"]`));
    expect(unread).toEqual([]);
    expect(set).toContain("JP_STORE");
  });

  test("has only text in its lists of words", () => {
    const words = Object.values(services).flatMap(({ command = [], healthcheck }) => [
      ...command,
      ...(healthcheck?.test ?? []),
    ]);
    expect(words.filter((word: unknown) => typeof word !== "string")).toEqual([]);
  });

  test("names only secrets and volumes that it has", () => {
    const named = Object.values(services).flatMap((service) => service.secrets ?? []);
    const files = [
      ...`${text}${read("examples", "fleet", "entrypoint.sh")}`.matchAll(/\/run\/secrets\/(\w+)/g),
    ];
    const mounted = Object.values(services).flatMap((service) => service.volumes ?? []);
    const kept = mounted
      .map((mount) => mount.split(":")[0] ?? "")
      .filter((name) => /^\w+$/.test(name));
    expect(new Set(named)).toEqual(new Set(Object.keys(secrets)));
    expect(new Set(files.map(([, name]) => name))).toEqual(new Set(Object.keys(secrets)));
    expect(new Set(kept)).toEqual(new Set(Object.keys(volumes)));
  });

  test("lets workers end their turns, and asks them for their health where they serve it", () => {
    const { stop_grace_period: period = "", healthcheck } = services["worker"] ?? {};
    expect(Number(/^(\d+)s$/.exec(period)?.[1])).toBeGreaterThan(valueOf("--grace"));
    expect(healthcheck?.test.join(" ")).toContain(
      `http://127.0.0.1:${valueOf("--health")}/healthz`,
    );
  });

  test("uses pinned images, the packages that jp is tested with, and no root", () => {
    const { version, devDependencies } = JSON.parse(read("package.json")) as {
      readonly version: string;
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const images = [
      ...Object.values(services).map(({ image }) => image),
      /^FROM (.+)$/m.exec(dockerfile)?.[1],
    ];
    expect(images.filter((image) => !/:\d+\.\d+/.test(image ?? ""))).toEqual([]);
    expect(dockerfile).toContain(`/tmp/jp-ts-${version}.tgz pg@${devDependencies["pg"]} `);
    expect(dockerfile).toMatch(/^USER node$/m);
  });
});
