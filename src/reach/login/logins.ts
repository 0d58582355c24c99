/** The user's logins to MCP servers, in their data folder. Loads the code to renew one only when it is due. */
import { rmSync } from "node:fs";
import path from "node:path";
import { PrivateFile, withFileLock } from "../../stores/index.ts";
import { type Clock, loadModule, messageOf, sha256 } from "../../util/index.ts";
import {
  type HttpServer,
  loginEnded,
  loginRequired,
  McpError,
  type ServerLogins,
} from "../mcp/index.ts";
import { endsSoon, formatLogin, hasEnded, type Login, parseLogin } from "./login.ts";

export interface LoginsOptions {
  /** In the user's data folder. */
  readonly folder: string;
  readonly clock: Clock;
}

/** A login, as users see it. */
export interface LoginState {
  /** Who issued it. */
  readonly issuer: string;
  /** When its access token ends. Absent if the authorization server has not said. */
  readonly expiresAt?: string;
  /** The access token is renewed without the user. */
  readonly isRenewed: boolean;
  /** The user has to log in again. */
  readonly hasEnded: boolean;
  readonly scope?: string;
}

/** Rereads a login when another process has changed it. */
export class Logins implements ServerLogins {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #files = new Map<string, PrivateFile<Login | undefined>>();

  constructor({ folder, clock }: LoginsOptions) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Throws `mcp_login_required` if its file cannot be used. */
  find({ name, url }: HttpServer): Login | undefined {
    const login = this.#fileOf({ name, url }).read();
    return login?.url === addressOf(url) ? login : undefined;
  }

  /** Asks no one. Throws `mcp_login_required` if its file cannot be used. */
  findState(server: HttpServer): LoginState | undefined {
    const login = this.find(server);
    if (login === undefined) return undefined;
    const { issuer, expiresAt, tokens } = login;
    return {
      issuer,
      ...(expiresAt !== undefined && { expiresAt }),
      isRenewed: tokens?.refresh_token !== undefined,
      hasEnded: hasEnded(login, this.#clock.now()),
      ...(tokens?.scope !== undefined && { scope: tokens.scope }),
    };
  }

  async findToken(server: HttpServer): Promise<string | undefined> {
    const login = this.find(server);
    const token = login?.tokens?.access_token;
    if (login === undefined || token === undefined) return undefined;
    const isDue = login.tokens?.refresh_token !== undefined && endsSoon(login, this.#clock.now());
    if (!isDue) return token;
    try {
      const renewed = await this.#renew(server, token);
      return renewed.tokens?.access_token;
    } catch (error) {
      // It may work later, and until then the token does.
      const isPassing = error instanceof McpError && error.code === "mcp_login_failed";
      if (isPassing && Date.parse(login.expiresAt ?? "") > this.#clock.now().getTime())
        return token;
      throw error;
    }
  }

  async renew(server: HttpServer, refused: string | undefined): Promise<void> {
    if (this.find(server) === undefined) throw loginRequired(server.name);
    await this.#renew(server, refused);
  }

  async save(server: HttpServer, login: Login): Promise<void> {
    await this.#fileOf(server).change(() => login);
  }

  /** Deletes a file that cannot be used. */
  forget({ url }: HttpServer): void {
    rmSync(this.#pathOf(url), { force: true });
  }

  /** Returns what was removed. */
  async remove(server: HttpServer): Promise<Login | undefined> {
    if (this.find(server) === undefined) return undefined;
    return this.#alone(server, async () => {
      const login = this.find(server);
      rmSync(this.#pathOf(server.url), { force: true });
      return login;
    });
  }

  /** One process renews a token; the others wait for it, and use what it got. */
  async #renew(server: HttpServer, refused: string | undefined): Promise<Login> {
    return this.#alone(server, async () => {
      const login = this.find(server);
      if (login?.tokens === undefined) throw loginEnded(server.name);
      if (login.tokens.access_token !== refused) return login;
      const { refresh } = await loadModule(() => import("./refresh.ts"));
      const renewed = await refresh(server, login, this.#clock.now());
      await this.save(server, renewed);
      if (renewed.tokens === undefined) throw loginEnded(server.name);
      return renewed;
    });
  }

  #alone<Value>({ url }: HttpServer, action: () => Promise<Value>): Promise<Value> {
    return withFileLock(`${this.#pathOf(url)}.renewing`, action);
  }

  #fileOf({ name, url }: HttpServer): PrivateFile<Login | undefined> {
    const file = this.#pathOf(url);
    const known = this.#files.get(file);
    if (known !== undefined) return known;
    const opened = new PrivateFile<Login | undefined>(file, {
      empty: undefined,
      parse: parseLogin,
      format: (login) => (login === undefined ? "" : formatLogin(login)),
      onInvalid: (invalid, error) => {
        throw unusable(name, invalid, error);
      },
    });
    this.#files.set(file, opened);
    return opened;
  }

  #pathOf(url: string): string {
    return path.join(this.#folder, `${sha256(addressOf(url)).slice(0, 32)}.json`);
  }
}

function addressOf(url: string): string {
  return URL.parse(url)?.href ?? url;
}

function unusable(name: string, file: string, error: unknown): McpError {
  const reason = messageOf(error).replace(/\.$/, "");
  const message = `Your login to the MCP server "${name}" cannot be used: ${file}: ${reason}.`;
  return new McpError("mcp_login_required", message, {
    hint: `Remove the file, and log in again with: jp mcp login ${name}`,
  });
}
