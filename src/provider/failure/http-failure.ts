/** An HTTP answer that says no, for requests that we make ourselves. */

const MOST_CHARACTERS = 20_000;

/** With the fields that errors of the AI SDK have, so that both are read in one way. */
class HttpFailure extends Error {
  readonly statusCode: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;

  constructor(response: Response, body: string) {
    super(`HTTP ${response.status}`);
    this.statusCode = response.status;
    this.responseHeaders = Object.fromEntries(response.headers);
    this.responseBody = body.slice(0, MOST_CHARACTERS);
  }
}

/** The answer, if it says yes. Throws `HttpFailure`. */
export async function accepted(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new HttpFailure(response, await response.text());
}
