/** Renews an access token where it was issued. */
import { OAuthError, OAuthErrorCode, refreshAuthorization } from "@modelcontextprotocol/client";
import { type HttpServer, McpError } from "../mcp/index.ts";
import { authFetch, isSecure, reasonOfAuth } from "./auth-fetch.ts";
import { type Login, secretsOf, withTokens } from "./login.ts";

/** The authorization server has refused for good. */
const ENDED: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidGrant,
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

/** Without tokens if the user has to log in again. Throws `mcp_login_failed` if it may work later. */
export async function refresh({ name }: HttpServer, login: Login, now: Date): Promise<Login> {
  const { authorizationServer, metadata, resource, client, tokens } = login;
  const { tokens: _ended, expiresAt: _then, ...ended } = login;
  if (tokens?.refresh_token === undefined) return ended;
  const { origin } = new URL(metadata?.token_endpoint ?? authorizationServer);
  try {
    const renewed = await refreshAuthorization(authorizationServer, {
      ...(metadata !== undefined && { metadata }),
      ...(resource !== undefined && { resource }),
      clientInformation: client,
      refreshToken: tokens.refresh_token,
      fetchFn: authFetch({
        check: (url) => {
          if (url.origin !== origin || !isSecure(url)) throw new Error("its address has changed");
        },
      }),
    });
    // A response without a scope keeps the old one.
    const { scope = tokens.scope } = renewed;
    return withTokens(login, { ...renewed, ...(scope !== undefined && { scope }) }, now);
  } catch (error) {
    if (error instanceof OAuthError && ENDED.has(error.code)) return ended;
    const reason = reasonOfAuth(error, secretsOf(login));
    // No cause: it may quote a token.
    throw new McpError(
      "mcp_login_failed",
      `jp cannot renew your login to the MCP server "${name}" at ${origin}: ${reason}.`,
      { hint: "It tries again with the next request." },
    );
  }
}
