/** The answer to the secret question. Must not be in any file. */
export const SECRET = "s3cret-of-the-torture";
