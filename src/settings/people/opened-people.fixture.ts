/** People in a file and in PostgreSQL, each opened by two processes. */
import path from "node:path";
import { onTestFinished } from "vitest";
import { migratedDatabase } from "../../../test/support/postgres.ts";
import type { Directory } from "../../record/conversation/index.ts";
import { Database } from "../../stores/postgres/database.ts";
import { PostgresTenant } from "../../stores/postgres/tenant.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { type DirectoryOptions, openDirectory } from "./directory.ts";
import { openPeople, type People, type PeopleOptions } from "./people.ts";
import { deriveId } from "./person.ts";
import { hashOf } from "./secret.ts";

/** Some people, and the same people opened by another process. */
interface OpenedPeople {
  readonly people: People;
  readonly other: People;
  readonly directoryFor: (options: DirectoryOptions) => Directory;
}

export const EVERY_PLACE: readonly {
  readonly name: string;
  readonly create: (options?: PeopleOptions) => Promise<OpenedPeople>;
}[] = [
  {
    name: "a file",
    create: async (options) => {
      const { folder } = openFile();
      return {
        people: openPeople(folder, options),
        other: openPeople(folder, options),
        directoryFor: (settings) => openDirectory(folder, settings),
      };
    },
  },
  {
    name: "PostgreSQL",
    create: async (options) => {
      const { tenant, other } = await openTenants();
      return {
        people: openPeople(tenant.people, options),
        other: openPeople(other.people, options),
        directoryFor: (settings) => openDirectory(tenant.people, settings),
      };
    },
  },
];

/** Opens the same tenant of a database twice. */
export async function openTenants() {
  const options = { url: await migratedDatabase(), tenant: crypto.randomUUID(), pid: process.pid };
  const [tenant, other] = [new PostgresTenant(options), new PostgresTenant(options)];
  const database = new Database(options.url);
  onTestFinished(async () => {
    for (const each of [tenant, other, database]) await each.close();
  });
  /** Passes the tenant as the first value. */
  const query = (text: string) => database.query({ text, values: [options.tenant] });
  return { tenant, other, query, url: options.url, name: options.tenant };
}

export function openFile() {
  const folder = path.join(temporaryFolder(), "data");
  return { people: openPeople(folder), file: path.join(folder, "people.json"), folder };
}

export function findByToken(people: People, token: string) {
  return people.findByHash(hashOf(token));
}

/** The id of a person who was added with this token. */
export function idOf(token: string): string {
  return deriveId(hashOf(token));
}
