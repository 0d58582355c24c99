/** The form for a person's token. Login links are handled before it is shown. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Notice, Title } from "./parts.tsx";

interface LoginProps {
  readonly problem?: string | undefined;
  /** Whether the page was opened with a link that allows adding a passkey. */
  readonly hasLink: boolean;
  readonly onLogin: (token: string) => Promise<void>;
}

export function Login({ problem, hasLink, onLogin }: LoginProps): VNode {
  const [token, setToken] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (token.trim() === "") return;
    setIsBusy(true);
    await onLogin(token.trim());
    setToken("");
    setIsBusy(false);
  };
  return (
    <main class="login" id="content">
      <Title>jp desk</Title>
      {problem !== undefined && <Notice>{problem}</Notice>}
      {hasLink && <p>Log in with your own token to add a passkey.</p>}
      <form onSubmit={(event) => void submit(event)}>
        <label for="token">Your personal token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          autocapitalize="off"
          spellcheck={false}
          required
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button class="primary" disabled={isBusy}>
          Log in
        </button>
      </form>
      <p class="hint">
        Started the desk yourself? Open the link that <code>jp serve</code> printed. It works once;
        press Enter in that terminal for another. <code>jp serve people add NAME</code> prints a
        personal token.
      </p>
    </main>
  );
}
