/** Files of state: the one way to write them, to read them back, and to say what became of the disk. */
export { type AppendOptions, appendFile } from './append.ts';
export { setAside } from './aside.ts';
export { diskState } from './disk-state.ts';
export { makeFolder, moveFile, moveFolder, removeUnnamed } from './folders.ts';
export { dropForms, type FormsOptions, formFile, type MadeFrom, type OpenForms, openForms } from './forms.ts';
export { KeptFile, type KeptForm } from './kept-file.ts';
export { sweepFolders, sweepLeftovers, syncName } from './names.ts';
export { readState, readStateSync } from './read.ts';
export { recoverFile } from './recover.ts';
export { type ReplaceOptions, replaceFile, replaceFileSync, waitingForDiskMs } from './replace.ts';
export { isStorageTrouble, storageError } from './storage-error.ts';
export { WantedFile } from './wanted-file.ts';
