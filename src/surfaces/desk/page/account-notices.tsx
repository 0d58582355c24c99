/** Notices about a person's own account at login: its keys have changed, or it is not confirmed yet. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { describePeopleChange } from "../../render/index.ts";
import type { DeskUser, KeyChangeJson } from "../client.ts";
import { Line, Notice } from "./parts.tsx";

/** Dismissed in this browser only: another login as this person cannot hide it from them. */
export function AccountNotices({ me }: { readonly me: DeskUser }): VNode {
  const { name, id = name, known, key_changes: changes = [] } = me;
  const [seen, setSeen] = useState(() => readSeen(id));
  const unseen = changes.filter(({ at }) => at > seen);
  const [latest] = unseen;
  const dismiss = () => {
    if (latest === undefined) return;
    localStorage.setItem(seenKey(id), latest.at);
    setSeen(latest.at);
  };
  return (
    <>
      {known?.confirmed === false && (
        <Notice kind="hint">
          Your account is not confirmed yet. Until then, you cannot decide what is for certain
          people, or takes several.
        </Notice>
      )}
      {latest !== undefined && (
        <section class="notice key-changes" role="alert" aria-labelledby="key-changes">
          <h2 id="key-changes">The keys that you sign with have changed</h2>
          <ul>
            {unseen.map((change) => (
              <li key={`${change.at} ${change.key ?? ""}`}>
                <Line text={describeChange(change)} />
              </li>
            ))}
          </ul>
          <p>If this was not you, tell whoever runs the desk at once.</p>
          <button type="button" onClick={dismiss}>
            Dismiss
          </button>
        </section>
      )}
    </>
  );
}

/** Such as `2026-01-02 03:04 UTC: passkey aBcDeFgH added at the desk by ada, allowed by a link`. */
function describeChange(change: KeyChangeJson): string {
  const time = `${change.at.slice(0, 16).replace("T", " ")} UTC`;
  return `${time}: ${describePeopleChange(change)}`;
}

function seenKey(id: string): string {
  return `jp-desk-keys-seen ${id}`;
}

function readSeen(id: string): string {
  return localStorage.getItem(seenKey(id)) ?? "";
}
