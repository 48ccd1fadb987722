# SPDX-License-Identifier: GPL-3.0-or-later
# Programs from Debian that nobody here wrote and no model was worked out with, each with an input that is made here. With
# CORECAST_KERNELS=strangers bench/kernels and bench/predict_time run those that are installed, at a SIZE of 100 for 0.2 to 3 s.
#
# Their files are kept in the folder CORECAST_INPUTS, if it is named. The packages: cut -d' ' -f2 <<<"$strangers".
# shellcheck disable=SC2034 # what is set here is for kernel_names.bash

# Name, package, program.
strangers='7z p7zip-full /usr/lib/p7zip/7z
bwa bwa bwa
clustalo clustalo clustalo
blastn ncbi-blast+ blastn
fastp fastp fastp
fasttree fasttree fasttreeMP
hashdeep hashdeep hashdeep
jellyfish jellyfish jellyfish
kalign kalign kalign
lbzip2 lbzip2 lbzip2
magick graphicsmagick gm
mcl mcl mcl
minimap2 minimap2 minimap2
mksquashfs squashfs-tools mksquashfs
par2 par2 par2
pari pari-gp gp
pbzip2 pbzip2 pbzip2
phmmer hmmer phmmer
pixz pixz pixz
plzip plzip plzip
povray povray povray
primecount primecount primecount
ripgrep ripgrep rg
samtools samtools samtools
sort coreutils sort
stockfish stockfish stockfish
ugrep ugrep ugrep
vpxenc vpx-tools vpxenc
vsearch vsearch vsearch
x264 x264 x264'

PATH=$PATH:/usr/games

stranger_names() {
	local name program
	while read -r name _ program; do
		if command -v "$program" >/dev/null; then
			echo "$name"
		fi
	done <<<"$strangers"
}

# made FILE COMMAND...: FILE, which COMMAND prints, unless it is there.
made() {
	local file=$inputs/$1
	shift
	[ -e "$file" ] || { "$@" >"$file.new" && mv "$file.new" "$file"; }
}

# A random genome of SIZE bases, in lines of 60.
genome() {
	perl -e 'srand 1; my @b = qw(A C G T); print ">g\n";
		for (1 .. $ARGV[0] / 60) { print map({ $b[rand 4] } 1 .. 60), "\n" }' "$1"
}

# COUNT reads of 150 bases of the genome, 1% of them wrong, as FASTQ.
reads() {
	perl -e 'srand 2; open F, $ARGV[0]; <F>; local $/; my $g = <F>; $g =~ s/\n//g; my @b = qw(A C G T);
		for my $i (1 .. $ARGV[1]) {
			my $r = substr $g, rand(length($g) - 150), 150;
			substr($r, rand 150, 1) = $b[rand 4] for 1 .. 2;
			print "\@r$i\n$r\n+\n", "I" x 150, "\n";
		}' "$inputs/genome.fa" "$1"
}

# Families of proteins: COUNT sequences, eight of each family, a fifth of each of them changed.
proteins() {
	perl -e 'srand 3; my @a = split //, "ACDEFGHIKLMNPQRSTVWY"; my @f;
		for my $i (1 .. $ARGV[0]) {
			@f = map { $a[rand 20] } 1 .. 200 + rand 200 if $i % 8 == 1;
			print ">p$i\n", join("", map { rand() < 0.2 ? $a[rand 20] : $_ } @f), "\n";
		}' "$1"
}

# The same length for all: COUNT relatives of one sequence of LENGTH bases.
relatives() {
	perl -e 'srand 4; my @b = qw(A C G T); my @s = ([ map { $b[rand 4] } 1 .. $ARGV[1] ]);
		for my $i (1 .. $ARGV[0] - 1) {
			push @s, [ map { rand() < 0.08 ? $b[rand 4] : $_ } @{ $s[rand @s] } ];
		}
		print ">s$_\n", join("", @{ $s[$_] }), "\n" for 0 .. $#s' "$1" "$2"
}

# FRAMES moving frames of 320 by 240, YUV4MPEG2.
video() {
	perl -e 'binmode STDOUT; print "YUV4MPEG2 W320 H240 F25:1 Ip A1:1 C420jpeg\n"; srand 5;
		my @n = map { rand 24 } 1 .. 997;
		for my $f (0 .. $ARGV[0] - 1) {
			print "FRAME\n";
			for my $y (0 .. 239) { print pack "C*", map {
				128 + 60 * sin(($_ + 3 * $f) / 19) * cos(($y - 2 * $f) / 23) + $n[($_ * 7 + $y * 13 + $f) % 997] } 0 .. 319 }
			print pack("C*", map { 128 + 40 * sin(($_ + $f) / 70) } 1 .. 160 * 120) for 1 .. 2;
		}' "$1"
}

image() {
	perl -e 'binmode STDOUT; my $w = $ARGV[0]; print "P6\n$w $w\n255\n"; srand 6;
		for my $y (0 .. $w - 1) { print pack "C*", map { (128 + 90 * sin($_ / 41) * cos($y / 37) + rand 30,
			($_ * $y) % 251, ($_ + $y) & 255) } 0 .. $w - 1 }' "$1"
}

# COUNT lines of seven random letters.
words() {
	perl -e 'srand 7; print map({ chr(97 + rand 26) } 1 .. 7), "\n" for 1 .. $ARGV[0]' "$1"
}

# Edges of a graph of COUNT nodes in groups of 20.
edges() {
	perl -e 'srand 9; my $n = $ARGV[0];
		for my $i (1 .. $n) {
			print "n$i n", 1 + (20 * int($i / 20) + int rand 20) % $n, "\n" for 1 .. 8;
			print "n$i n", 1 + int rand $n, "\n";
		}' "$1"
}

scene() {
	perl -e 'srand 10; print "camera { location <0, 2, -9> look_at 0 }\nlight_source { <9, 9, -9> color rgb 1 }\n";
		printf "sphere { <%.2f, %.2f, %.2f>, 0.5 pigment { color rgb <%.2f, %.2f, 0.4> } finish { reflection 0.3 phong 0.8 } }\n",
			map({ 8 * rand() - 4 } 1 .. 3), rand, rand for 1 .. 60;
		print "plane { y, -4 pigment { checker color rgb 1 color rgb 0.2 } }\n"'
}

# stranger_command NAME THREADS SIZE: sets $run.
stranger_command() {
	local name=$1 t=$2 size=$3
	local inputs=${CORECAST_INPUTS:-$work}
	mkdir -p "$inputs/out"
	case $name in
	7z | par2 | pbzip2 | lbzip2 | pixz | plzip) made "text.$size" text "$size" ;;
	bwa | minimap2 | samtools | jellyfish | fastp | blastn)
		made genome.fa genome 4000000
		made "reads.$size.fq" reads "$(scaled "$size" 250)"
		;;
	esac
	local text=$inputs/text.$size genome=$inputs/genome.fa reads=$inputs/reads.$size.fq
	case $name in
	7z) run=(/usr/lib/p7zip/7z a -bd -txz -mx=1 "-mmt=$t" -so none "$text") ;;
	bwa)
		[ -e "$genome.sa" ] || bwa index "$genome" >"$inputs/log" 2>&1
		run=(bwa mem -t "$t" "$genome" "$reads")
		;;
	clustalo)
		made "few.$size.fa" proteins "$(scaled "$size" 0.6)"
		run=(clustalo -i "$inputs/few.$size.fa" "--threads=$t" --force -o "$inputs/out/clustalo")
		;;
	blastn)
		[ -e "$genome.nsq" ] || makeblastdb -in "$genome" -dbtype nucl >"$inputs/log"
		made "query.$size.fa" awk 'NR % 4 == 1 { print ">" NR } NR % 4 == 2' "$reads"
		run=(blastn -outfmt 6 -max_target_seqs 5 -num_threads "$t" -db "$genome" -query "$inputs/query.$size.fa")
		;;
	fastp) run=(fastp -w "$t" -i "$reads" -o "$inputs/out/fastp.fq" -j /dev/null -h /dev/null) ;;
	fasttree)
		made "relatives.$size.fa" relatives "$(scaled "$size" 1.2)" 400
		run=(env "OMP_NUM_THREADS=$t" fasttreeMP -quiet -nt "$inputs/relatives.$size.fa")
		;;
	hashdeep) run=(hashdeep "-j$t" -r "$source/src" "$source/cmd" "$source/tests") ;;
	jellyfish) run=(jellyfish count -m 21 -s 8M -t "$t" -o /dev/null "$genome") ;;
	kalign)
		made "family.$size.fa" proteins "$(scaled "$size" 2)"
		run=(kalign --nthreads "$t" -i "$inputs/family.$size.fa" -o "$inputs/out/kalign")
		;;
	magick)
		made image.ppm image 600
		run=(env "OMP_NUM_THREADS=$t" gm convert "$inputs/image.ppm" -blur 0x4 -sharpen 0x2 -resize 150% "$inputs/out/magick.png")
		;;
	mcl)
		made "edges.$size" edges "$(scaled "$size" 100)"
		run=(mcl "$inputs/edges.$size" --abc -te "$t" -q x -V all -o "$inputs/out/mcl")
		;;
	minimap2) run=(minimap2 -a -x sr -t "$t" "$genome" "$reads") ;;
	mksquashfs) run=(mksquashfs "$source/src" "$inputs/out/squash" -noappend -quiet -no-progress -processors "$t") ;;
	par2)
		rm -f "$inputs/out"/par2*
		run=(par2 create -q -q "-t$t" -s10000 -c30 -B "$inputs" "$inputs/out/par2" "$text")
		;;
	pari)
		made pari.gp echo 'n = 0; parfor(i = 1, 400, #factorint(2^90 + i), c, n += c); print(n); quit'
		run=(env "GP_NBTHREADS=$t" gp -f -q "--default" "nbthreads=$t" "$inputs/pari.gp")
		;;
	pbzip2) run=(pbzip2 "-p$t" -b1 -c "$text") ;;
	lbzip2) run=(lbzip2 -n "$t" -1 -c "$text") ;;
	phmmer)
		made "proteins.$size.fa" proteins "$(scaled "$size" 30)"
		made "query.fa" proteins 1
		run=(phmmer --cpu "$t" "$inputs/query.fa" "$inputs/proteins.$size.fa")
		;;
	pixz) run=(pixz -1 -f 0.5 -p "$t" "$text" "$inputs/out/pixz") ;;
	plzip) run=(plzip -n "$t" -1 -B 1MiB -c "$text") ;;
	povray)
		made scene.pov scene
		run=(povray -D "+WT$t" +W160 +H120 +A "+I$inputs/scene.pov" "+O$inputs/out/povray.png")
		;;
	primecount) run=(primecount "-t$t" "$(scaled "$size" 1)e11") ;;
	ripgrep) run=(rg -j "$t" -c 'st[a-z]+_[rt]' "$source") ;;
	samtools)
		[ -e "$inputs/reads.$size.sam" ] || minimap2 -a -x sr -o "$inputs/reads.$size.sam" "$genome" "$reads" 2>"$inputs/log"
		run=(samtools sort -@ "$((t - 1))" -o "$inputs/out/samtools.bam" "$inputs/reads.$size.sam")
		;;
	sort)
		made "words.$size" words "$(scaled "$size" 6000)"
		run=(sort "--parallel=$t" -S 200M -o "$inputs/out/sort" "$inputs/words.$size")
		;;
	stockfish) run=(stockfish bench 16 "$t" "$((7 + ${#size}))") ;;
	ugrep) run=(ugrep "-J$t" -r -c 'st[a-z]+_[rt]' "$source/src" "$source/tests") ;;
	vpxenc)
		made "video.$size.y4m" video "$(scaled "$size" 0.2)"
		run=(vpxenc -q --rt --cpu-used=6 --tile-columns=1 "--threads=$t" -o "$inputs/out/vpx" "$inputs/video.$size.y4m")
		;;
	vsearch)
		made "short.$size.fa" relatives "$(scaled "$size" 2)" 200
		run=(vsearch --quiet --threads "$t" --allpairs_global "$inputs/short.$size.fa" --acceptall --blast6out /dev/null)
		;;
	x264)
		made "video.$size.y4m" video "$(scaled "$size" 0.2)"
		run=(x264 --quiet --threads "$t" --preset fast -o "$inputs/out/x264.mkv" "$inputs/video.$size.y4m")
		;;
	*)
		echo "$name is none of the programs of bench/strangers.bash" >&2
		return 2
		;;
	esac
	run[0]=$(command -v "${run[0]}")
}

# text SIZE: our own sources again and again, as make_text has them.
text() {
	make_text "$1"
	cat "$work/text"
}
