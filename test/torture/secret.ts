/** What the person of the torture answers when a secret is asked for. Must be in no file. */
export const SECRET = "s3cret-of-the-torture";
