/**
 * Strict base64: RFC 4648 section 4, with padding, no white space, no other alphabet, and zero bits behind the last
 * byte, so that one value has one spelling. Undefined where the text is not in that form.
 */
export function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const tail = text.slice(-4);
  if (Buffer.from(tail, 'base64').toString('base64') !== tail) return undefined;
  return Buffer.from(text, 'base64');
}
