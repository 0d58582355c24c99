/** The administrators' dialog with everyone who may use the desk. Confirms accounts that others have added. */
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { PersonJson } from "../client.ts";
import { Line, messageOf, Notice } from "./parts.tsx";
import { useDesk } from "./session.ts";

export function People({ openings }: { readonly openings: number }): VNode {
  const { client, say } = useDesk();
  const dialog = useRef<HTMLDialogElement>(null);
  const [items, setItems] = useState<readonly PersonJson[]>([]);
  const [problem, setProblem] = useState<string>();
  const run = async (work: () => Promise<void>) => {
    setProblem(undefined);
    try {
      await work();
      setItems(await client.people());
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  const confirm = async ({ id = "", name }: PersonJson) => {
    await client.confirmPerson(id);
    say(`${name} is confirmed.`);
  };
  useEffect(() => {
    if (openings === 0) return;
    dialog.current?.showModal();
    void run(async () => undefined);
  }, [openings]);
  return (
    <dialog ref={dialog} aria-labelledby="people">
      <h2 id="people">People</h2>
      <p>
        An account added at the desk decides nothing that is for certain people until it is
        confirmed on the command line, or by an administrator independent of whoever added it.
      </p>
      <ul class="entries">
        {items.map((person) => (
          <li key={person.id}>
            <span>
              <Line text={person.name} />
              <span class="hint">{describeAccount(person, items)}</span>
            </span>
            {person.may_confirm && (
              <button
                type="button"
                aria-label={`Confirm ${person.name}`}
                onClick={() => void run(() => confirm(person))}
              >
                Confirm
              </button>
            )}
          </li>
        ))}
      </ul>
      {problem !== undefined && <Notice>{problem}</Notice>}
      <div class="actions">
        <button type="button" class="primary" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  );
}

/** Their rights and roles, and who added the account. */
function describeAccount(
  { rights, roles, made_by: makers, confirmed }: PersonJson,
  people: readonly PersonJson[],
): string {
  const [maker] = makers ?? [];
  const name = people.find(({ id }) => id === maker)?.name ?? maker;
  const facts = [
    rights.join(", "),
    ...(roles.length > 0 ? [`roles: ${roles.join(", ")}`] : []),
    ...(makers === undefined ? [] : [`added at the desk by ${name ?? "someone"}`]),
    ...(confirmed === false ? ["not confirmed"] : []),
  ];
  return facts.join("; ");
}
