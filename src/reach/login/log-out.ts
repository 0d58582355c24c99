/** Ends a login where it was issued. */
import { selectClientAuthMethod } from "@modelcontextprotocol/client";
import { authFetch, isSecure, reasonOfAuth } from "./auth-fetch.ts";
import { type Login, secretsOf } from "./login.ts";

export type Revocation =
  | { readonly type: "revoked" }
  /** The authorization server has no way to end a login. */
  | { readonly type: "unsupported" }
  /** `reason` is a sentence without its full stop. */
  | { readonly type: "failed"; readonly reason: string };

/** Revokes the tokens. Never throws. */
export async function revoke(login: Login): Promise<Revocation> {
  const { metadata, tokens } = login;
  const endpoint =
    metadata !== undefined && "revocation_endpoint" in metadata
      ? metadata.revocation_endpoint
      : undefined;
  if (endpoint === undefined || tokens === undefined) return { type: "unsupported" };
  const { origin } = new URL(endpoint);
  const fetchFn = authFetch({
    check: (url) => {
      if (url.origin !== origin || !isSecure(url)) throw new Error("its address is not secure");
    },
  });
  try {
    // The end of a refresh token ends its access tokens.
    const { refresh_token: renewing, access_token: access } = tokens;
    const all = renewing === undefined ? [access] : [renewing, access];
    for (const token of all) {
      const { status } = await fetchFn(endpoint, requestFor(token, login));
      if (status !== 200) throw new Error(`HTTP ${status}`);
    }
    return { type: "revoked" };
  } catch (error) {
    return { type: "failed", reason: reasonOfAuth(error, secretsOf(login)) };
  }
}

function requestFor(token: string, { client, metadata }: Login): RequestInit {
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  const body = new URLSearchParams({ token });
  const supported = metadata?.token_endpoint_auth_methods_supported ?? [];
  const { client_id: id, client_secret: secret = "" } = client;
  if (selectClientAuthMethod(client, supported) === "client_secret_basic") {
    const words = [id, secret].map((each) => encodeURIComponent(each));
    headers.set("authorization", `Basic ${Buffer.from(words.join(":")).toString("base64")}`);
  } else {
    body.set("client_id", id);
    if (secret !== "") body.set("client_secret", secret);
  }
  return { method: "POST", headers, body };
}
