/** Files that come from the reader's disk, and that go there. */

/** The chosen file; the same file can be chosen again afterwards, for it may have changed. */
export function chosenFile(event: Event): File | undefined {
  const input = event.currentTarget as HTMLInputElement;
  const file = input.files?.[0];
  input.value = '';
  return file;
}

/** Has the browser keep it, where it keeps what was downloaded. */
export function download(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
