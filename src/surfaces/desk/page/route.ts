/** Maps the address's fragment to a view and back. */
import type { ConversationAddress, InquiryAddress } from "../wire.ts";

/** The view that the page shows. */
export type Route =
  | { readonly view: "inbox" }
  | ({ readonly view: "inquiry" } & InquiryAddress)
  | { readonly view: "conversations" }
  | ({ readonly view: "conversation" } & ConversationAddress)
  | { readonly view: "audit" }
  | { readonly view: "unknown" };

/** Takes the fragment with its `#`. */
export function parseRoute(fragment: string): Route {
  const [path = "", query = ""] = fragment.replace(/^#?\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").map(decode);
  const [conversation, id] = rest;
  const workspace = new URLSearchParams(query).get("workspace") ?? undefined;
  if (rest.some((part) => part === undefined || part === "")) return { view: "unknown" };
  if (view === "" && rest.length === 0) return { view: "inbox" };
  if (view === "audit" && rest.length === 0) return { view };
  if (view === "conversations" && rest.length === 0) return { view };
  if (view === "conversations" && rest.length === 1 && conversation !== undefined) {
    return { view: "conversation", conversation, workspace };
  }
  if (view === "inquiries" && rest.length === 2 && conversation !== undefined && id !== undefined) {
    return { view: "inquiry", conversation, id, workspace };
  }
  return { view: "unknown" };
}

/** The code of a login link. Undefined if the fragment is not one. */
export function loginCode(fragment: string): string | undefined {
  const code = /^#\/?login=(.+)$/.exec(fragment)?.[1];
  return code === undefined ? undefined : decode(code);
}

/** The code of a link that allows adding a passkey. Undefined if the fragment is not one. */
export function passkeyCode(fragment: string): string | undefined {
  const code = /^#\/?passkey=(.+)$/.exec(fragment)?.[1];
  return code === undefined ? undefined : decode(code);
}

/** The address that logs in another browser. */
export function loginLink(page: string, code: string): string {
  const url = new URL(page);
  url.hash = `login=${encodeURIComponent(code)}`;
  return url.href;
}

/**
 * Rejects personal tokens: a person who opens a link with someone else's token would unknowingly answer in their name.
 */
export function isOneTime(code: string): boolean {
  return !code.startsWith("jpd_");
}

export function inquiryLink({ conversation, id, workspace }: InquiryAddress): string {
  const path = `#/inquiries/${encodeURIComponent(conversation)}/${encodeURIComponent(id)}`;
  return path + workspaceQuery(workspace);
}

export function conversationLink({ conversation, workspace }: ConversationAddress): string {
  return `#/conversations/${encodeURIComponent(conversation)}${workspaceQuery(workspace)}`;
}

/** Conversation ids are unique only within a workspace. */
function workspaceQuery(workspace: string | undefined): string {
  return workspace === undefined ? "" : `?${new URLSearchParams({ workspace }).toString()}`;
}

/** Undefined if the encoding is invalid. */
function decode(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
