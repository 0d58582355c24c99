/**
 * What a person trusts of a workspace, by digests. It is kept outside of the workspace and tied to the
 * place where that lies: a clone elsewhere is another one, whatever id it brings.
 */
import { readFileSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { isJsonObject } from "../../util/index.ts";
import type { TrustStore } from "../port.ts";
import { writeError } from "../storage-error.ts";
import { makeFolder, writeJson } from "./durable.ts";

export class FsTrustStore implements TrustStore {
  readonly #folder: string;
  readonly #root: string;

  constructor(dataFolder: string, root: string) {
    this.#folder = path.join(dataFolder, "trust");
    this.#root = root;
  }

  async trusted(texts: readonly string[]): Promise<ReadonlySet<string>> {
    const { file, digestOf } = await this.#open();
    const digests = readDigests(file);
    return new Set(texts.filter((text) => digests.has(digestOf(text))));
  }

  async trust(texts: readonly string[]): Promise<void> {
    const { root, file, digestOf } = await this.#open();
    const known = readDigests(file);
    const all = new Set([...known, ...texts.map(digestOf)]);
    if (all.size === known.size) return;
    await makeFolder(this.#folder);
    await writeJson(file, { workspace: root, trusted: [...all] });
  }

  async forget(): Promise<void> {
    const { file } = await this.#open();
    try {
      await rm(file, { force: true });
    } catch (error) {
      throw writeError(file, error);
    }
  }

  async #open() {
    const root = realpathSync(this.#root);
    const { createHash } = await import("node:crypto"); // Loaded when needed: it is slow to start.
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    return {
      root,
      file: path.join(this.#folder, `${hash(root)}.json`),
      digestOf: (text: string) => hash(`${root}\0${text}`),
    };
  }
}

/** Where it cannot be read, nothing is trusted. */
function readDigests(file: string): ReadonlySet<unknown> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, "utf8"));
    const trusted = isJsonObject(value) ? value["trusted"] : undefined;
    return new Set(Array.isArray(trusted) ? trusted : []);
  } catch {
    return new Set();
  }
}
