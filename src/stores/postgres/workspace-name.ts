/**
 * Finds, creates and claims the row of a workspace. A program, or the user's config, gives its name. Otherwise the files
 * of the workspace say which row it is: `.jp/.store-id`, or `.jp/.id` for one from before there were store ids.
 *
 * A row keeps its name: turns are signed under it. So a name that a row does not share with the files is refused, or
 * whoever can write to the database could have one workspace's signed turns continue in another.
 */
import path from "node:path";
import { shellWord } from "../../util/index.ts";
import { StorageError } from "../storage-error.ts";
import type { ClaimedWorkspace } from "../workspace-port.ts";
import type { Queries } from "./database.ts";
import type { WorkspaceFiles } from "./store-options.ts";

/** A workspace in the database. */
export interface NamedRow {
  readonly key: string;
  readonly name: string;
  /** Its clones are known by the five digits of `.jp/.id` alone. */
  readonly isUnclaimed: boolean;
}

interface WorkspaceRow {
  readonly key: string;
  readonly name: string;
  readonly store_id: string | null;
}

/** Finds a workspace by its name, or by its files. All methods throw what reading the files throws. */
export class WorkspaceName {
  readonly #queries: Queries;
  readonly #tenant: string;
  readonly #given: string | WorkspaceFiles;

  constructor(queries: Queries, tenant: string, given: string | WorkspaceFiles = "default") {
    this.#queries = queries;
    this.#tenant = tenant;
    this.#given = given;
  }

  /** Undefined until something is stored. Throws `workspace_claimed`, `other_workspace`. */
  find(): Promise<NamedRow | undefined> {
    const given = this.#given;
    return typeof given === "string" ? this.#findNamed(given) : this.#findOf(given);
  }

  /** Like `find`, but creates it if missing. */
  async ensure(): Promise<NamedRow> {
    const given = this.#given;
    const found = await this.find();
    if (found !== undefined) return found;
    if (typeof given !== "string") return this.#create(given);
    await this.#queries.query({
      text: "insert into jp.workspaces (tenant, name) values ($1, $2) on conflict do nothing",
      values: [this.#tenant, given],
    });
    return assertThere(await this.#findNamed(given));
  }

  /**
   * Like `ensure`, but makes no `.jp/.store-id`: in each clone it would be another one. Throws `workspace_unnamed` too.
   */
  async ensureForWorker(): Promise<NamedRow> {
    const given = this.#given;
    const found = await this.find();
    if (found !== undefined) return found;
    if (typeof given !== "string" && (await given.findStoreId()) === undefined)
      throw unnamedError(given);
    return this.ensure();
  }

  /**
   * See `WorkspaceClaims.claim`. The file is written first: a claim that ends there has changed nothing in the database,
   * and the next one completes it.
   */
  async claim(isOther: boolean): Promise<ClaimedWorkspace> {
    const files = this.#given;
    if (typeof files === "string") throw givenError(files);
    const { row: found, problem } = await this.#look(files, isOther);
    if (problem !== undefined) throw problem;
    if (found === undefined) return { type: "created", name: (await this.#create(files)).name };
    if (!found.isUnclaimed) return { type: "known", name: found.name };
    const { storeId, isNew } = await files.ensureStoreId();
    const [row] = await this.#queries.query<WorkspaceRow>({
      text: `update jp.workspaces set store_id = $3
        where tenant = $1 and key = $2 and store_id is null returning key, name, store_id`,
      values: [this.#tenant, found.key, storeId],
    });
    if (row !== undefined) return { type: "claimed", name: row.name };
    const { row: now, problem: refusal } = await this.#look(files, false);
    if (now?.isUnclaimed === false) return { type: "known", name: now.name };
    if (!isNew) throw refusal ?? claimedError(files, found.name);
    await files.removeStoreId(); // Another clone was first: its id is the one to pull.
    throw claimedError(files, found.name);
  }

  async #findNamed(name: string): Promise<NamedRow | undefined> {
    const [row] = await this.#queries.query<Omit<WorkspaceRow, "store_id">>({
      text: "select key, name from jp.workspaces where tenant = $1 and name = $2",
      values: [this.#tenant, name],
    });
    return row && { ...row, isUnclaimed: false };
  }

  async #findOf(files: WorkspaceFiles): Promise<NamedRow | undefined> {
    const { row, problem } = await this.#look(files, false);
    if (problem !== undefined) throw problem;
    return row;
  }

  /** `isOther`: the row that `.jp/.id` names is another repository's. */
  async #look(
    files: WorkspaceFiles,
    isOther: boolean,
  ): Promise<{ readonly row?: NamedRow; readonly problem?: StorageError }> {
    const [id, storeId] = [files.findId(), await files.findStoreId()];
    if (id === undefined && storeId === undefined) return {};
    const rows = await this.#queries.query<WorkspaceRow>({
      text: `select key, name, store_id from jp.workspaces
        where tenant = $1 and (store_id = $2 or name = $3)`,
      values: [this.#tenant, storeId ?? null, id ?? null],
    });
    const own = rows.find((row) => storeId !== undefined && row.store_id === storeId);
    if (own !== undefined) {
      const { key, name } = own;
      if (name === id || (storeId !== undefined && isNameOf(storeId, name)))
        return { row: { key, name, isUnclaimed: false } };
      return { problem: renamedError(files, name) };
    }
    const [named] = rows;
    if (named === undefined || isOther) return {};
    const { key, name } = named;
    if (named.store_id === null) return { row: { key, name, isUnclaimed: true } };
    if (storeId !== undefined) return { problem: otherError(files, name) };
    // Another process may have claimed it in this clone since the file was looked for.
    const isNow = (await files.findStoreId()) !== undefined;
    return isNow ? this.#look(files, isOther) : { problem: claimedError(files, name) };
  }

  /** Every workspace has an `.id` as well: the user's own data is kept under it. */
  async #create(files: WorkspaceFiles): Promise<NamedRow> {
    await files.ensureId();
    const { storeId, isNew } = await files.ensureStoreId();
    if (isNew) files.onCreate();
    await this.#queries.query({
      text: `insert into jp.workspaces (tenant, name, store_id) values ($1, $2, $3)
        on conflict do nothing`,
      values: [this.#tenant, nameFor(storeId, files.root), storeId],
    });
    return assertThere(await this.#findOf(files));
  }
}

function assertThere(row: NamedRow | undefined): NamedRow {
  if (row === undefined) throw new Error("the workspace was removed");
  return row;
}

const MAX_LABEL = 32;

/** For people, with enough of the id to tell workspaces apart: `site-3f0c9a41d2b7`. Clones need not agree on the rest. */
function nameFor(storeId: string, root: string): string {
  const label = path
    .basename(root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, MAX_LABEL);
  return `${label === "" ? "workspace" : label}-${shortId(storeId)}`;
}

function isNameOf(storeId: string, name: string): boolean {
  return name.endsWith(`-${shortId(storeId)}`);
}

function shortId(storeId: string): string {
  return storeId.slice(0, 12);
}

const BY_NAME = "storage.workspace in your own config";

/** This clone has no `.store-id`. */
function claimedError({ root }: WorkspaceFiles, name: string): StorageError {
  return new StorageError(
    "workspace_claimed",
    `The workspace ${name} in the database has a .jp/.store-id, and ${root} has none.`,
    {
      hint: `If this is a clone of it, pull .jp/.store-id. Otherwise name another workspace.`,
      commandHint: `If this is a clone of it, pull the file that \`jp store claim\` has made. If it is another repository with the same .jp/.id, run \`jp store claim --other\` here. ${name} stays within reach with ${BY_NAME}.`,
    },
  );
}

/** This clone has another `.store-id`. */
function otherError({ root }: WorkspaceFiles, name: string): StorageError {
  return new StorageError(
    "other_workspace",
    `The workspace ${name} in the database has another .jp/.store-id than ${root}.`,
    {
      hint: `If this is a clone of it, remove .jp/.store-id here, and pull. Otherwise name another workspace.`,
      commandHint: `If this is a clone of it, remove .jp/.store-id here, and pull. If it is another repository with the same .jp/.id, run \`jp store claim --other\` here. ${name} stays within reach with ${BY_NAME}.`,
    },
  );
}

/** The signatures of its turns would not fit. A row that was claimed is named after the `.id` of then. */
function renamedError({ root, findId }: WorkspaceFiles, name: string): StorageError {
  const file = path.join(root, ".jp", ".id");
  const wasClaimed = /^[0-9a-z]{5}$/.test(name);
  return new StorageError(
    "other_workspace",
    `.jp/.store-id names the workspace ${name} in the database, which does not fit .jp/.id in ${root} (${findId() ?? "none"}).`,
    wasClaimed
      ? {
          hint: "If this is a clone of it, restore .jp/.id.",
          commandHint: `If this is a clone of it, restore that file, for example with: echo ${name} > ${shellWord(file)}`,
        }
      : { hint: "Someone may have changed the rows of workspaces. Ask the owner of the database." },
  );
}

function unnamedError({ root }: WorkspaceFiles): StorageError {
  return new StorageError(
    "workspace_unnamed",
    `The database has nothing of ${root} yet, and a worker makes no .jp/.store-id: it waits.`,
    {
      hint: "Name the workspace.",
      commandHint: `Run \`jp store claim\` in one clone, commit .jp/.store-id, and pull it here. Or set ${BY_NAME}.`,
    },
  );
}

function givenError(name: string): StorageError {
  return new StorageError(
    "workspace_unnamed",
    `storage.workspace names the workspace (${name}), so no .jp/.store-id would count.`,
    { hint: "Remove it from your own config first." },
  );
}
