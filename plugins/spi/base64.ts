/** Strict base64: RFC 4648 section 4, with padding, no whitespace, no other alphabet, and zero bits behind the last byte. */

/** Undefined where the text is not in that form. */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const tail = text.slice(-4);
  return tail === '' || Buffer.from(tail, 'base64').toString('base64') === tail ? bytes : undefined;
}
