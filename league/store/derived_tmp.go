package store

import "evenodd/league/store/atomicfile"

func WriteDerived(path string, document any) error {
	return save(path, document, makeFolder, atomicfile.WriteFile, 0o644)
}
